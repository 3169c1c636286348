"""Both engines' connections insert many rows at once."""

from typing import Any

import pytest
from statement_log import statements

from store import Connection, Store
from store.errors import StoreError

COLUMNS = "source_id, scope, guid, repo_id, name, received_at, size, digest, body, action"
ODD = ("tab\there", "line\nand\rreturn", "back\\slash \\. \\N", "", "ü€😀", "NULL", "%s $1 :x")
THEN = " ON CONFLICT (guid, scope) DO NOTHING RETURNING guid"


def rows_of(count: int) -> list[tuple[Any, ...]]:
    """Rows of the table `event` with large numbers, unusual texts, bytes and NULL."""
    return [
        (0, 1, f"g{at}", 2**62, ODD[at % len(ODD)], at, at, bytes(range(at % 256)), None, None)
        for at in range(count)
    ]


def inserted(db: Connection, rows: list[tuple[Any, ...]], then: str = "") -> list[tuple[Any, ...]]:
    return db.insert_many("event", COLUMNS, rows, then)


def kept(db: Connection) -> list[tuple[Any, ...]]:
    found = db.tuples(f"SELECT {COLUMNS} FROM event ORDER BY id")
    return [tuple(bytes(x) if isinstance(x, memoryview) else x for x in row) for row in found]


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 64, 257, 1000])
class TestInsertMany:
    def test_keeps_every_row_as_it_was(self, store: Store, count: int) -> None:
        store.write_sync(inserted, rows_of(count))
        assert store.read_sync(kept) == rows_of(count)

    def test_returns_the_requested_columns(self, store: Store, count: int) -> None:
        store.write_sync(inserted, rows_of(1))
        made = store.write_sync(inserted, rows_of(count), THEN)
        assert made == [(row[2],) for row in rows_of(count)[1:]]
        assert store.read_sync(kept) == rows_of(max(count, 1))

    def test_inserting_many_rows_takes_few_statements(
        self, store: Store, count: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = statements(monkeypatch)
        store.write_sync(inserted, rows_of(count))
        used = [sql for sql in asked if sql.startswith(("INSERT", "COPY"))]
        assert len(used) <= 4 + count // 64


@pytest.mark.parametrize("count", [2, 500])
def test_one_row_that_cannot_be_kept_spoils_them_all(store: Store, count: int) -> None:
    bad = rows_of(count)
    bad[-1] = bad[0]
    with pytest.raises(Exception, match=r"(?i)unique"):
        store.write_sync(inserted, bad)
    assert store.read_sync(kept) == []
    store.write_sync(inserted, rows_of(count))
    assert len(store.read_sync(kept)) == count


@pytest.mark.parametrize("count", [1, 500])
def test_a_read_inserts_nothing(store: Store, count: int) -> None:
    with pytest.raises(StoreError, match=r"read"):
        store.read_sync(inserted, rows_of(count))
    assert store.read_sync(kept) == []
