"""The embedded engine: one SQLite file in WAL mode, one writer, readers beside it."""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from store.connection import Row, Session, TooLong, chunks
from store.courier import Courier, Herald, hear, wake_path
from store.errors import Unavailable, Unusable
from store.vault import Vault

# JSON operators came with 3.38; RETURNING and UPDATE FROM are older.
OLDEST = (3, 38, 0)
# A bounded read may spend this many checks of so many virtual-machine steps: a few milliseconds.
CHECKS, STEPS = 20, 10_000
# One statement inserts this many rows: the interpreter's lock is let go once for all of them.
CHUNKS = (64, 16, 4, 1)

PASSING = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
}


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_INTERRUPT:
            raise TooLong from None
        if code & 0xFF in PASSING:
            raise Unavailable(f"the database cannot be used right now: {error}") from error
        raise


class SqliteConnection:
    """Statements on one open transaction (store.connection.Connection)."""

    skip_locked = ""

    def __init__(self, raw: sqlite3.Connection, vault: Vault, courier: Callable[[], Courier]):
        self._raw = raw
        self._courier = courier
        self.vault = vault
        self.now = 0
        self.finished: list[Callable[[], None]] = []

    @property
    def courier(self) -> Courier:
        return self._courier()

    def _run(self, sql: str, parameters: dict[str, Any]) -> sqlite3.Cursor:
        return self._raw.execute(sql, parameters)

    def one(self, sql: str, **parameters: Any) -> Row | None:
        with _translated():
            cursor = self._run(sql, parameters)
            row = cursor.fetchone()
            return None if row is None else dict(zip(_names(cursor), row, strict=True))

    def all(self, sql: str, **parameters: Any) -> list[Row]:
        with _translated():
            cursor = self._run(sql, parameters)
            rows = cursor.fetchall()
            names = _names(cursor)
            return [dict(zip(names, row, strict=True)) for row in rows]

    def tuples(self, sql: str, **parameters: Any) -> Sequence[tuple[Any, ...]]:
        with _translated():
            return self._run(sql, parameters).fetchall()

    def value(self, sql: str, **parameters: Any) -> Any:
        with _translated():
            row = self._run(sql, parameters).fetchone()
            return None if row is None else row[0]

    def execute(self, sql: str, **parameters: Any) -> int:
        with _translated():
            return self._run(sql, parameters).rowcount

    def insert_many(
        self, table: str, columns: str, rows: Sequence[Sequence[Any]], then: str = ""
    ) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for part in chunks(rows, CHUNKS):
            values = [value for row in part for value in row]
            with _translated():
                sql = _insert(table, columns, len(part[0]), len(part), then)
                found += self._raw.execute(sql, values).fetchall()
        return found

    def each(self, parameter: str, **columns: str) -> str:
        return _each(parameter, tuple(columns.items()))

    def lateral(self, table: str, alias: str, query: str) -> str:
        return f"JOIN {table} {alias} ON {alias}.id IN ({query})"

    def after_commit(self, call: Callable[[], None]) -> None:
        self.finished.append(call)


def _names(cursor: sqlite3.Cursor) -> list[str]:
    return [column[0] for column in cursor.description]


@lru_cache(maxsize=64)
def _insert(table: str, columns: str, width: int, count: int, then: str) -> str:
    row = f"({','.join('?' * width)})"
    return f"INSERT INTO {table} ({columns}) VALUES {','.join([row] * count)} {then}"


@lru_cache(maxsize=64)
def _each(parameter: str, columns: tuple[tuple[str, str], ...]) -> str:
    if len(columns) == 1:
        return f"(SELECT value AS {columns[0][0]} FROM json_each(:{parameter}))"
    # Types need no word here: SQLite keeps those of the JSON values.
    members = ", ".join(f"value ->> {at} AS {name}" for at, (name, _) in enumerate(columns))
    return f"(SELECT {members} FROM json_each(:{parameter}))"


class SqliteSession:
    """One connection and its transactions (store.connection.Session)."""

    def __init__(self, raw: sqlite3.Connection, db: SqliteConnection, *, bounded: bool) -> None:
        self._raw = raw
        self._db = db
        self.finished = db.finished
        self._durable = True
        self._checks = 0
        if bounded:
            raw.set_progress_handler(self._check, STEPS)

    @property
    def db(self) -> SqliteConnection:
        return self._db

    def _check(self) -> int:
        self._checks += 1
        return self._checks > CHECKS

    def begin(self, now: int, *, write: bool, durable: bool = True) -> None:
        self._db.now = now
        self._checks = 0
        self.finished.clear()
        with _translated():
            if write and durable != self._durable:
                self._raw.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            # Deferred, a read followed by a write can fail at once with "database is locked".
            self._raw.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def commit(self) -> None:
        with _translated():
            self._raw.execute("COMMIT")

    def rollback(self) -> None:
        # A full disk rolls back by itself.
        if self._raw.in_transaction:
            self._raw.execute("ROLLBACK")

    def savepoint(self) -> None:
        with _translated():
            self._raw.execute("SAVEPOINT one")

    def release(self) -> None:
        with _translated():
            self._raw.execute("RELEASE one")

    def undo(self) -> None:
        with _translated():
            self._raw.execute("ROLLBACK TO one")
            self._raw.execute("RELEASE one")

    def close(self) -> None:
        self._raw.close()


class SqliteEngine:
    """A SQLite file (store.connection.Engine)."""

    inline = True
    exclusive = True

    def __init__(self, path: Path, vault: Vault, courier: Callable[[], Courier]) -> None:
        if sqlite3.sqlite_version_info < OLDEST:
            wanted = ".".join(map(str, OLDEST))
            raise Unusable(f"SQLite {sqlite3.sqlite_version} is too old: {wanted} or newer")
        self.words = {"id": "INTEGER PRIMARY KEY", "blob": "BLOB"}
        self.path = path
        self._vault = vault
        self._courier = courier
        self._lock = None if str(path) == ":memory:" else path.with_suffix(".worker.lock")
        self._held: int | None = None
        self._herald: Herald | None = None

    def session(self, *, bounded: bool = False) -> Session:
        try:
            raw = sqlite3.connect(
                self.path, timeout=10, isolation_level=None, check_same_thread=False
            )
            raw.execute("PRAGMA journal_mode = WAL")
            raw.execute("PRAGMA synchronous = FULL")
            raw.execute("PRAGMA foreign_keys = ON")
            raw.execute("PRAGMA temp_store = MEMORY")
            raw.execute("PRAGMA cache_size = -16000")
        except sqlite3.Error as error:
            raise Unusable(f"cannot open the database {self.path}: {error}") from error
        return SqliteSession(
            raw, SqliteConnection(raw, self._vault, self._courier), bounded=bounded
        )

    def only_worker(self) -> bool:
        """Hold the lock file for as long as this process lives; a crash lets go of it."""
        if self._held is not None or self._lock is None:
            return True
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._held = descriptor
        return True

    def herald(self) -> Courier:
        if self._herald is None:
            self._herald = Herald(wake_path(self.path))
        return self._herald

    async def hear(self, called: Callable[[list[int]], None]) -> Callable[[], None]:
        return await hear(wake_path(self.path), called)

    def close(self) -> None:
        if self._herald is not None:
            self._herald.close()
            self._herald = None
        if self._held is not None:
            os.close(self._held)
            self._held = None
