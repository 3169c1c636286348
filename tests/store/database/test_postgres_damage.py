"""PostgreSQL's errors about damaged pages and indexes are named as damage."""

import pytest
from psycopg import errors

from store.database.postgres.errors import translate_errors
from store.errors import Damaged


@pytest.mark.parametrize("kind", [errors.DataCorrupted, errors.IndexCorrupted])
def test_a_damaged_page_is_named_as_damage(kind: type[Exception]) -> None:
    said = r"damaged \(invalid page in block 1\): .* with pg_restore"
    with pytest.raises(Damaged, match=said), translate_errors():
        raise kind("invalid page in block 1")
