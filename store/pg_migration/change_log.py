"""The change log of a database that is being migrated.

It uses triggers, because they see the writes of all processes. A change is recorded only up to a
table's mark: rows up to it may have been copied, and rows beyond it will be copied by their keys.
So rows that are added and deleted at the end, as usual, cost nothing.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from store.database.connection import Connection, json_array
from store.pg_migration.tables import Table

CHUNK = 500
# The recorded events, and the row whose first key is recorded.
WATCHED = (
    ("insert", "INSERT", "NEW"),
    ("delete", "DELETE", "OLD"),
    ("update", "UPDATE", "OLD"),
    ("rekey", "UPDATE OF {first}", "NEW"),
)
MADE = (
    "CREATE TABLE moving (key TEXT PRIMARY KEY, number INTEGER NOT NULL)",
    "CREATE TABLE moving_mark (name TEXT PRIMARY KEY, high) WITHOUT ROWID",
    "CREATE TABLE moving_change (name TEXT, first, number INTEGER NOT NULL,"
    " PRIMARY KEY (name, first)) WITHOUT ROWID",
)
# In a trigger, `INSERT OR ...` would follow the conflict clause of the statement that fired it.
NOTED = " ON CONFLICT (name, first) DO UPDATE SET number = excluded.number"


class ChangeLog:
    """The changes by table and first key, each with the number of its latest change."""

    def __init__(self, db: Connection, tables: Sequence[Table]) -> None:
        self._db = db
        self._tables = tables

    def key(self) -> str | None:
        """Return the key of the migration under way, or None."""
        if not self._db.value("SELECT 1 FROM sqlite_master WHERE name = 'moving'"):
            return None
        found: str = self._db.value("SELECT key FROM moving")
        return found

    def begin(self, key: str) -> None:
        self.end()
        for statement in MADE:
            self._db.execute(statement)
        self._db.execute("INSERT INTO moving (key, number) VALUES (:key, 0)", key=key)
        for table in self._tables:
            self._db.execute("INSERT INTO moving_mark (name) VALUES (:name)", name=table.name)
            for verb, event, row in WATCHED:
                self._db.execute(_watching(table, verb, event, row))

    def complete(self) -> bool:
        """Return whether every change is recorded."""
        return len(self._triggers("moving_note_%")) == len(WATCHED) * len(self._tables)

    def mark(self) -> int:
        """Set each table's mark to its last row, and begin a new number. Return the former one."""
        for table in self._tables:
            self._db.execute(
                "UPDATE moving_mark SET high = coalesce(max(high, f.last), f.last, high) FROM"
                f' (SELECT max({table.first}) AS last FROM "{table.name}") AS f'
                " WHERE name = :name",
                name=table.name,
            )
        number: int = self._db.value("UPDATE moving SET number = number + 1 RETURNING number - 1")
        return number

    def high(self, table: Table) -> Any:
        """Return the table's mark: the first key of its last row at the time of `mark`.

        Return None if the table was empty.
        """
        return self._db.value("SELECT high FROM moving_mark WHERE name = :name", name=table.name)

    def changed(self, table: Table, number: int) -> Iterator[list[Any]]:
        """Yield the first keys recorded up to this number, in chunks."""
        sql = "SELECT first FROM moving_change WHERE name = :name AND number <= :number"
        firsts = self._db.column(
            f"{sql} ORDER BY first LIMIT {CHUNK}", name=table.name, number=number
        )
        while firsts:
            yield firsts
            firsts = self._db.column(
                f"{sql} AND first > :after ORDER BY first LIMIT {CHUNK}",
                name=table.name,
                number=number,
                after=firsts[-1],
            )

    def recorded(self, table: Table, firsts: Sequence[Any]) -> set[Any]:
        sql = (
            "SELECT first FROM moving_change WHERE name = :name"
            " AND first IN (SELECT value FROM json_each(:firsts))"
        )
        return set(self._db.column(sql, name=table.name, firsts=json_array(firsts)))

    def forget(self, number: int) -> None:
        """Delete the records up to this number that have not changed since."""
        self._db.execute("DELETE FROM moving_change WHERE number <= :number", number=number)

    def note(self, table: Table, firsts: Sequence[Any]) -> None:
        """Record these first keys as changed."""
        rows = [(table.name, first, 0) for first in firsts]
        self._db.insert_many("moving_change", "name, first, number", rows, NOTED)

    def end(self) -> None:
        """Stop recording, and delete the log."""
        for name in self._triggers("moving_note_%"):
            self._db.execute(f'DROP TRIGGER "{name}"')
        for name in ("moving_change", "moving_mark", "moving"):
            self._db.execute(f"DROP TABLE IF EXISTS {name}")

    def refuse_writes(self, reason: str) -> None:
        """Make every write fail with this reason, also on connections that are open already."""
        said = reason.replace("'", "''")
        for table in self._tables:
            for verb in ("INSERT", "UPDATE", "DELETE"):
                self._db.execute(
                    f'CREATE TRIGGER "moving_stop_{table.name}_{verb}" BEFORE {verb}'
                    f" ON \"{table.name}\" BEGIN SELECT RAISE(ABORT, '{said}'); END"
                )

    def allow_writes(self) -> None:
        """Undo `refuse_writes`."""
        for name in self._triggers("moving_stop_%"):
            self._db.execute(f'DROP TRIGGER "{name}"')

    def _triggers(self, pattern: str) -> list[str]:
        sql = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE :pattern"
        return self._db.column(sql, pattern=pattern)


def _watching(table: Table, verb: str, event: str, row: str) -> str:
    first = f"{row}.{table.first}"
    return (
        f'CREATE TRIGGER "moving_note_{table.name}_{verb}"'
        f' AFTER {event.format(first=table.first)} ON "{table.name}"'
        f" WHEN {first} <= (SELECT high FROM moving_mark WHERE name = '{table.name}')"
        " BEGIN INSERT INTO moving_change (name, first, number)"
        f" VALUES ('{table.name}', {first}, (SELECT number FROM moving)){NOTED}; END"
    )
