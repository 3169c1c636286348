"""PostgreSQL's errors about damage, a full tablespace, and used-up numbers of transactions."""

import pytest
from psycopg import errors
from psycopg.pq import DiagnosticField

from store.database.postgres.errors import translate_errors
from store.errors import Damaged, Full, Invalid, Unavailable


@pytest.mark.parametrize("kind", [errors.DataCorrupted, errors.IndexCorrupted])
def test_a_damaged_page_is_named_as_damage(kind: type[Exception]) -> None:
    said = r"damaged \(invalid page in block 1\): .* with pg_restore"
    with pytest.raises(Damaged, match=said), translate_errors():
        raise kind("invalid page in block 1")


def test_a_full_tablespace_is_named_as_a_lack_of_room() -> None:
    with pytest.raises(Full, match="could not extend file"), translate_errors():
        raise errors.DiskFull("could not extend file: No space left on device")


@pytest.mark.parametrize("function", ["GetNewTransactionId", "GetNewMultiXactId"])
def test_a_server_without_numbers_for_transactions_cannot_be_used_right_now(
    function: str,
) -> None:
    """It has the code of a value that is too large, and an event must not be refused as that."""
    info = {DiagnosticField.SOURCE_FUNCTION: function.encode()}
    with pytest.raises(Unavailable, match="not accepting commands"), translate_errors():
        raise errors.ProgramLimitExceeded("the database is not accepting commands", info=info)
    with pytest.raises(Invalid), translate_errors():
        raise errors.ProgramLimitExceeded("index row size 9000 exceeds the maximum 2704")
