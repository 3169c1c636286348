"""The source of a migration: a SQLite file that is in use until it is closed."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from store.clock import Clock
from store.crypto.vault import open_vault
from store.database.connection import json_array
from store.database.migrations import CLOSED, require_current
from store.database.sqlite.connections import SqliteSession
from store.database.sqlite.engine import SqliteEngine
from store.database.sqlite.errors import cannot_open
from store.errors import Absent, Unusable
from store.pg_migration.change_log import ChangeLog
from store.pg_migration.tables import Table, Values, no_notifier, tables_of

T = TypeVar("T")

# The limits of a portion, which is in memory at once, and in one transaction of the target.
ROWS = 2_000
BYTES = 8 * 1024 * 1024


class SqliteSource:
    """An installation on SQLite.

    No transaction reads longer than a portion, because the daemon's log cannot be reset meanwhile.
    """

    def __init__(self, path: Path, key_path: Path) -> None:
        if not path.exists():
            raise Absent(f"there is no database at {path} to be moved")
        vault = open_vault(key_path, create=False)
        self.path = path
        self._engine = SqliteEngine(path, vault, no_notifier)
        try:
            self._session = SqliteSession(path, vault, no_notifier)
        except sqlite3.Error as error:
            raise cannot_open(path, error) from error
        try:
            if self.closed() is None:
                require_current(self._session, Clock().now())
            self.tables = tables_of(self._session)
            self.log = ChangeLog(self._session, self.tables)
            self._key = self.log.key()
            self._checked: int | None = None
        except BaseException:
            self.close()
            raise

    def key(self) -> str | None:
        """Return the key of the migration under way, or None."""
        return self._key

    def closed(self) -> str | None:
        """Return the reason why the database is closed, or None."""
        if not self._value("SELECT 1 FROM sqlite_master WHERE name = 'migration'"):
            return None
        found: str | None = self._value(f"SELECT name FROM migration WHERE number = {CLOSED}")
        return found

    def steps(self) -> list[tuple[int, str]]:
        """Return the applied schema migrations: their numbers and recorded names."""
        sql = f"SELECT number, name FROM migration WHERE number < {CLOSED} ORDER BY number"
        return [(number, name) for number, name in self._session.tuples(sql)]

    def alone(self) -> bool:
        """Acquire the worker's lock, so that nothing is delivered. Return False if it is held."""
        return self._engine.acquire_worker_lock()

    # Reading rows.

    def after(self, table: Table, after: Any, until: Any) -> Iterator[list[Values]]:
        """Yield the rows after one first key (None: from the start) up to another, in portions."""
        bounds = [] if after is None else [f"{table.first} > :after"]
        bounds += [] if until is None else [f"{table.first} <= :until"]
        return self._portions(table, bounds, after=after, until=until)

    def groups(self, table: Table, firsts: Sequence[Any]) -> Iterator[list[Values]]:
        """Yield the rows with these first keys, in portions."""
        where = f"{table.first} IN (SELECT value FROM json_each(:firsts))"
        return self._portions(table, [where], after=None, firsts=json_array(firsts))

    def _portions(self, table: Table, where: list[str], **given: Any) -> Iterator[list[Values]]:
        while True:
            chosen = [*where, f"{table.first} > :after"] if given["after"] is not None else where
            sql = f'SELECT {table.listed} FROM "{table.name}"'
            sql += f" WHERE {' AND '.join(chosen)}" if chosen else ""
            cursor = self._session.run(f"{sql} ORDER BY {table.order}", given)
            rows = _portion(cursor)
            cursor.close()
            if not rows:
                return
            yield rows
            given["after"] = rows[-1][0]

    def count(self, table: Table, after: Any = None, until: Any = None) -> int:
        """Return how many rows there are, or how many after one first key up to another."""
        where = "1" if after is None else f"{table.first} > :after"
        where += "" if until is None else f" AND {table.first} <= :until"
        sql = f'SELECT count(*) FROM "{table.name}" WHERE {where}'
        found: int = self._session.value(sql, after=after, until=until)
        return found

    def highest(self, table: Table) -> int:
        """Return the highest known key that this table ever had."""
        highest = self._value(f'SELECT max({table.first}) FROM "{table.name}"') or 0
        if self._value("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'"):
            sql = "SELECT seq FROM sqlite_sequence WHERE name = :name"
            highest = max(highest, self._session.value(sql, name=table.name) or 0)
        return highest

    def _value(self, sql: str) -> Any:
        return self._session.value(sql)

    # Recording changes, and closing the database.

    def begin(self, key: str) -> None:
        """Start to record changes for the migration with this key. Drop an earlier migration."""
        self.write(lambda: self.log.begin(key))
        self._key = key

    def mark(self) -> int:
        """Record changes under a new number from now on. Return the former number."""
        return self._move(self.log.mark)

    def _move(self, function: Callable[[], T]) -> T:
        """Run a write of the migration under way.

        Raises Unusable if another migration has begun, or if another version of tocsin has changed
        the tables.
        """

        def moving() -> T:
            if self.log.key() != self._key or not self._is_recorded():
                raise Unusable(
                    "the tables have changed, or another move has begun: use an empty target"
                )
            return function()

        return self.write(moving)

    def _is_recorded(self) -> bool:
        """Return whether the tables are the same as before, and every change is recorded.

        Reading the tables takes longer than most passes, so each schema is checked once.
        """
        version = self._value("PRAGMA schema_version")
        if version != self._checked:
            if tables_of(self._session) != self.tables or not self.log.complete():
                return False
            self._checked = version
        return True

    def forget(self, number: int) -> None:
        """Delete the records up to this number, because these changes are copied."""
        self._move(lambda: self.log.forget(number))

    def note(self, table: Table, firsts: Sequence[Any]) -> None:
        """Record these rows, so that they are copied again."""
        self._move(lambda: self.log.note(table, firsts))

    def refuse_writes(self, reason: str) -> None:
        """End the leases of workers and refuse every write from now on. Call `alone` before.

        The consumers of pull hooks keep theirs, which are below 0: they answer after the move.
        """

        def closing() -> None:
            execute = self._session.execute
            execute("UPDATE delivery SET lease_id = NULL WHERE lease_id > 0")
            execute("DELETE FROM lease")
            self.log.refuse_writes(reason)
            execute(
                "INSERT INTO migration (number, name, applied_at) VALUES (:number, :name, :now)",
                number=CLOSED,
                name=reason,
                now=Clock().now(),
            )

        self._move(closing)

    def allow_writes(self) -> None:
        """Accept writes again."""

        def opening() -> None:
            self.log.allow_writes()
            self._session.execute(f"DELETE FROM migration WHERE number = {CLOSED}")

        self.write(opening)

    def end(self) -> None:
        """Stop recording changes. A closed database stays closed."""
        self.write(self.log.end)

    def write(self, function: Callable[[], T]) -> T:
        """Call a function in its own transaction."""
        self._session.begin(Clock().now(), write=True)
        try:
            result = function()
            self._session.commit()
        except BaseException:
            self._session.rollback()
            raise
        return result

    def close(self) -> None:
        """Close the database and release the worker's lock."""
        self._session.close()
        self._engine.close()


def _portion(rows: Iterator[Values]) -> list[Values]:
    """Return the next rows, without splitting rows with the same first key."""
    batch: list[Values] = []
    size = 0
    for row in rows:
        if (len(batch) >= ROWS or size > BYTES) and row[0] != batch[-1][0]:
            break
        batch.append(_fitting(row))
        size += sum([len(value) for value in row if isinstance(value, (str, bytes))])
    return batch


def _fitting(row: Values) -> Values:
    """Replace NUL, which PostgreSQL's texts cannot contain. The hub accepts none."""
    return tuple(
        [
            value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value
            for value in row
        ]
    )
