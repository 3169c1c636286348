"""PostgreSQL's errors about damaged pages and indexes, and about a full tablespace."""

import pytest
from psycopg import errors

from store.database.postgres.errors import translate_errors
from store.errors import Damaged, Full


@pytest.mark.parametrize("kind", [errors.DataCorrupted, errors.IndexCorrupted])
def test_a_damaged_page_is_named_as_damage(kind: type[Exception]) -> None:
    said = r"damaged \(invalid page in block 1\): .* with pg_restore"
    with pytest.raises(Damaged, match=said), translate_errors():
        raise kind("invalid page in block 1")


def test_a_full_tablespace_is_named_as_a_lack_of_room() -> None:
    with pytest.raises(Full, match="could not extend file"), translate_errors():
        raise errors.DiskFull("could not extend file: No space left on device")
