"""PostgreSQL's connections: borrowed from a pool for one transaction at a time."""

import contextlib
import re
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors
from psycopg_pool import ConnectionPool, PoolTimeout

from store.courier import Courier
from store.errors import Unavailable
from store.statements import Statements
from store.vault import Vault

PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
TYPES = {"integer": "bigint", "text": "text"}
PASSING = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    errors.ReadOnlySqlTransaction,
    PoolTimeout,
)
Pool = ConnectionPool[psycopg.Connection[tuple[Any, ...]]]


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Errors that pass by themselves, in the store's words."""
    try:
        yield
    except PASSING as error:
        said = str(error).partition("\n")[0]
        raise Unavailable(f"the database cannot be used right now: {said}") from error


@lru_cache(maxsize=512)
def _named(sql: str) -> str:
    return PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))


class PostgresSession(Statements):
    """A connection while a transaction needs it (store.connection.Session)."""

    placeholder = "%s"
    skip_locked = " FOR UPDATE SKIP LOCKED"
    chunks = (256, 64, 16, 4, 1)

    def __init__(self, pool: Pool, vault: Vault, courier: Callable[[], Courier]) -> None:
        super().__init__(vault, courier)
        self._pool = pool
        self._raw: psycopg.Connection[tuple[Any, ...]] | None = None

    @property
    def db(self) -> "PostgresSession":
        return self

    def run(self, sql: str, parameters: dict[str, Any] | list[Any]) -> psycopg.Cursor[Any]:
        assert self._raw is not None, "a statement outside of a transaction"
        with translated():
            return self._raw.execute(
                _named(sql) if isinstance(parameters, dict) else sql,
                parameters,
            )

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

    def begin(self, now: int, *, write: bool, durable: bool = True) -> None:
        self.now = now
        self.finished.clear()
        with translated():
            self._raw = self._pool.getconn()
        # Each statement of a read sees what is committed when it starts, with BEGIN or without.
        if write:
            self._control("BEGIN")
            if not durable:
                self._control("SET LOCAL synchronous_commit = off")

    def _control(self, sql: str) -> None:
        self.run(sql, [])

    def commit(self) -> None:
        assert self._raw is not None
        if self._raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
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
        self._pool.putconn(self._raw)
        self._raw = None

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
