"""The embedded engine's connections to a SQLite file in WAL mode: one writer, several readers."""

import sqlite3
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from store.crypto.vault import Vault
from store.database.connection import ReadBudgetExceeded
from store.database.notifications import StoreNotifier
from store.database.sqlite.errors import translate
from store.database.statements import Statements

# A bounded read may spend CHECKS times STEPS virtual-machine steps, which is a few milliseconds.
# Short statements take few steps: their number counts.
CHECKS, STEPS, MOST_STATEMENTS = 20, 10_000, 1_000
# In seconds: how long to wait for a locked file, and the pause between our own tries.
TIMEOUT, AGAIN_AFTER = 10.0, 0.01
# Bytes to which the write-ahead log shrinks after a long read, such as a backup. It has some 4 MB,
# and more under load. A lower limit would cut it again and again.
LOG_BYTES = 64 * 1024 * 1024
PRAGMAS = (
    "synchronous = FULL",
    f"journal_size_limit = {LOG_BYTES}",
    "foreign_keys = ON",
    "temp_store = MEMORY",
    "cache_size = -16000",
)


@lru_cache(maxsize=64)
def _json_rows(parameter: str, columns: tuple[str, ...]) -> str:
    if len(columns) == 1:
        return f"(SELECT value AS {columns[0]} FROM json_each(:{parameter}))"
    # SQLite needs no casts, because it keeps the types of the JSON values.
    members = ", ".join(f"value ->> {at} AS {name}" for at, name in enumerate(columns))
    return f"(SELECT {members} FROM json_each(:{parameter}))"


class Rows(sqlite3.Cursor):
    """A cursor whose fetches translate errors, too: SQLite computes rows as they are fetched."""

    def fetchone(self) -> Any:
        try:
            return super().fetchone()
        except sqlite3.Error as error:
            translate(error)

    def fetchall(self) -> list[Any]:
        try:
            return super().fetchall()
        except sqlite3.Error as error:
            translate(error)


class SqliteSession(Statements):
    """One connection (store.database.connection.Session), which is also its own Connection."""

    placeholder = "?"
    # Each statement releases the interpreter's lock once, so 64 rows release it once.
    chunks = (64, 16, 4, 1)

    def __init__(self, path: Path, vault: Vault, notifier: Callable[[], StoreNotifier]) -> None:
        super().__init__(vault, notifier)
        self._raw = sqlite3.connect(
            path, timeout=TIMEOUT, isolation_level=None, check_same_thread=False
        )
        try:
            self._write_ahead()
            for pragma in PRAGMAS:
                self._raw.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:
            self._raw.close()
            raise
        self._durable = True
        self._write = True
        self._checks = self._statements = 0
        self._bounded = False

    def _write_ahead(self) -> None:
        # For this statement alone, SQLite itself does not wait while others lock the file.
        until = time.monotonic() + TIMEOUT
        while True:
            try:
                self._raw.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(AGAIN_AFTER)

    @property
    def db(self) -> "SqliteSession":
        return self

    def require_thread(self) -> None:
        if self._bounded:
            raise ReadBudgetExceeded

    def _check(self) -> int:
        self._checks += 1
        return self._checks > CHECKS

    def run(self, sql: str, parameters: dict[str, Any] | list[Any]) -> sqlite3.Cursor:
        if self._bounded:
            self._statements += 1
            if self._statements > MOST_STATEMENTS:
                raise ReadBudgetExceeded
        if isinstance(parameters, dict):
            parameters.setdefault("now", self.now)
        # A context manager would cost more than many of these statements.
        try:
            return self._raw.cursor(Rows).execute(sql, parameters)
        except sqlite3.Error as error:
            translate(error)

    def each(self, parameter: str, **columns: str) -> str:
        return _json_rows(parameter, tuple(columns))

    def lateral(self, table: str, alias: str, query: str) -> str:
        return f"JOIN {table} {alias} ON {alias}.id IN ({query})"

    def alone(self, name: str) -> None:
        """Do nothing: a writing transaction excludes all others anyway."""

    def writers(self, table: str) -> frozenset[str]:
        return frozenset()

    def oldest_writer(self, table: str) -> int | None:
        return None

    def no_timeout(self) -> None:
        """Do nothing: SQLite has no timeout for statements."""

    def begin(self, now: int, *, write: bool, durable: bool = True, bounded: bool = False) -> None:
        self.now = now
        self._checks = self._statements = 0
        self._start_anew()
        if bounded != self._bounded:
            self._raw.set_progress_handler(self._check if bounded else None, STEPS)
            self._bounded = bounded
        if write != self._write:
            self.run(f"PRAGMA query_only = {'OFF' if write else 'ON'}", [])
            self._write = write
        if write and durable != self._durable:
            self.run(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}", [])
            self._durable = durable
        # After a deferred BEGIN, a read followed by a write can fail at once with "database is
        # locked".
        self.run("BEGIN IMMEDIATE" if write else "BEGIN", [])

    def commit(self) -> None:
        self._run_before_commit()
        self.run("COMMIT", [])

    def rollback(self) -> None:
        # SQLite adds up the steps of all rollbacks. After a read that was too long, the check would
        # interrupt one in thousands: no transaction could begin in this session any more.
        self._checks = 0
        # If the disk is full, SQLite has rolled back already.
        if self._raw.in_transaction:
            self._raw.execute("ROLLBACK")

    def is_conflict(self, error: Exception) -> bool:
        """Return False: a writing transaction excludes all others."""
        return False

    def control(self, sql: str) -> None:
        self.run(sql, [])

    def close(self) -> None:
        self._raw.close()
