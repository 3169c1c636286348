"""PostgreSQL's connections: borrowed from a pool for one transaction at a time."""

import contextlib
import re
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from store.courier import Courier
from store.errors import Contended, StoreError, Unavailable
from store.postgres_errors import Raw, translated
from store.postgres_pool import Connections
from store.statements import Statements
from store.vault import Vault

T = TypeVar("T")
PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
TYPES = {"integer": "bigint", "text": "text"}


@lru_cache(maxsize=512)
def _named(sql: str) -> str:
    return PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))


# In one turn to the server and back.
UNSYNCED = "BEGIN; SET LOCAL synchronous_commit = off"


class PostgresSession(Statements):
    """A connection while a transaction needs it (store.connection.Session)."""

    placeholder = "%s"
    skip_locked = " FOR UPDATE SKIP LOCKED"
    # A sum is in no index.
    aside = " + 0"
    chunks = (256, 64, 16, 4, 1)

    def __init__(
        self, connections: Connections, vault: Vault, courier: Callable[[], Courier]
    ) -> None:
        super().__init__(vault, courier)
        self._connections = connections
        self._raw: Raw | None = None
        self._useless = False
        self._write = False

    @property
    def db(self) -> "PostgresSession":
        return self

    def run(self, sql: str, parameters: dict[str, Any] | list[Any]) -> psycopg.Cursor[Any]:
        assert self._raw is not None, "a statement outside of a transaction"
        if not self._write and not sql.startswith(("SELECT", "WITH")):
            raise StoreError("a read does not write: each of its statements is committed by itself")
        named = _named(sql) if isinstance(parameters, dict) else sql
        return self._tried(lambda raw: raw.execute(named, parameters))

    def _tried(self, call: Callable[[Raw], T]) -> T:
        assert self._raw is not None
        try:
            with translated():
                return call(self._raw)
        except Unavailable as error:
            # It is lost, or it was opened while the database only read, and goes on like that.
            self._useless = not isinstance(error, Contended)
            raise

    def each(self, parameter: str, **columns: str) -> str:
        items = f"json_array_elements(CAST(:{parameter} AS json)) AS items (item)"
        single = len(columns) == 1
        members = ", ".join(
            f"CAST(item {'#>>' if single else '->>'} {_at(at, single)} AS {TYPES[kind]}) AS {name}"
            for at, (name, kind) in enumerate(columns.items())
        )
        return f"(SELECT {members} FROM {items})"

    def lateral(self, table: str, alias: str, query: str) -> str:
        return f"CROSS JOIN LATERAL ({query}) AS {alias}"

    def alone(self, name: str) -> None:
        self.run("SELECT pg_advisory_xact_lock(:key)", {"key": zlib.crc32(name.encode())})

    def unhurried(self) -> None:
        self._control("SET LOCAL lock_timeout = 0")
        self._control("SET LOCAL statement_timeout = 0")

    def begin(self, now: int, *, write: bool, durable: bool = True) -> None:
        self.now = now
        self._write = write
        self.finished.clear()
        self._raw = self._connections.borrow()
        # Each statement of a read sees what is committed when it starts, with BEGIN or without.
        if write:
            try:
                self._control("BEGIN" if durable else UNSYNCED)
            except BaseException:
                self.rollback()
                raise

    def _control(self, sql: str) -> None:
        # Two commands in one cannot be prepared, and what has no plan gains nothing by it.
        self._tried(lambda raw: raw.execute(sql, prepare=False))

    def commit(self) -> None:
        assert self._raw is not None
        status = self._raw.info.transaction_status
        # The server would answer COMMIT, and roll back, without a word of error.
        assert status != TransactionStatus.INERROR, "a statement has failed and was passed over"
        if status != TransactionStatus.IDLE:
            self._control("COMMIT")
        self._give_back()

    def rollback(self) -> None:
        if self._raw is None:
            return
        # A connection that is lost has rolled back; the pool replaces it.
        with contextlib.suppress(psycopg.Error):
            self._raw.rollback()
        self._give_back()

    def _give_back(self) -> None:
        assert self._raw is not None
        self._connections.give_back(self._raw, useless=self._useless)
        self._raw, self._useless = None, False

    def savepoint(self) -> None:
        self._control("SAVEPOINT one")

    def release(self) -> None:
        self._control("RELEASE SAVEPOINT one")

    def undo(self) -> None:
        self._control("ROLLBACK TO SAVEPOINT one")
        self._control("RELEASE SAVEPOINT one")

    def close(self) -> None:
        self.rollback()


def _at(at: int, single: bool) -> str:
    return "'{}'" if single else str(at)
