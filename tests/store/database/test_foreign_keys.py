"""Foreign keys: deleting a row reads no table as a whole to find the rows that refer to it."""

import re

from store import Connection, Store

TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
KEYS = 'SELECT "from" FROM pragma_foreign_key_list(:name) ORDER BY 1'
KEYS_OF_POSTGRES = (
    "SELECT c.conrelid::regclass::text, a.attname FROM pg_constraint c JOIN pg_attribute a"
    " ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] WHERE c.contype = 'f'"
    " AND c.connamespace = current_schema()::regnamespace ORDER BY 1, 2"
)


def test_every_foreign_key_has_an_index(store: Store, url: str) -> None:
    postgres = url.startswith("postgres")
    found = store.write_sync(keys_of_postgres if postgres else keys)
    assert len(found) > 150
    without = [key for key in found if not store.write_sync(has_index, *key, postgres)]
    assert without == [], "an index begins with the column; if it is partial, WHERE ... IS NOT NULL"


def keys(db: Connection) -> list[tuple[str, str]]:
    """The table and the column of each foreign key."""
    return [
        (table, column)
        for (table,) in db.tuples(TABLES)
        for (column,) in db.tuples(KEYS, name=table)
    ]


def keys_of_postgres(db: Connection) -> list[tuple[str, str]]:
    return [(table, column) for table, column in db.tuples(KEYS_OF_POSTGRES)]


def has_index(db: Connection, table: str, column: str, postgres: bool) -> bool:
    """Whether the search that the engine makes before a deletion goes through an index."""
    search = f"SELECT 1 FROM {table} WHERE {column} = :id"
    if not postgres:
        plan = db.tuples(f"EXPLAIN QUERY PLAN {search}", id=1)
        return all(f"({column}=?)" in str(row[3]) or "(rowid=?)" in str(row[3]) for row in plan)
    # The tables are empty, so that reading them as a whole would be cheaper.
    db.execute("SET LOCAL enable_seqscan = off")
    plan = db.tuples(f"EXPLAIN {search}", id=1)
    return any(re.search(rf"Index Cond: \({column} = ", str(row[0])) for row in plan)
