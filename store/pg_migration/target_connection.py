"""The mover's connection to PostgreSQL."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from store.database.postgres.errors import redact_error, translate_errors
from store.database.postgres.server_sessions import apply_settings, require_own_sessions
from store.errors import Conflict, Invalid, Unavailable, Unusable
from store.pg_migration.tables import Collision, Values

# "tocsin" in ASCII. Only one mover at a time can hold this lock.
LOCK = 0x746F6373696E
NAME = "tocsin migrate"
DEFAULTS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "tcp_user_timeout": 60_000,
}
# Commits are synchronous, because the source forgets changes that the target has.
SETTINGS = {"lock_timeout": "10s", "statement_timeout": "0", "synchronous_commit": "on"}
# Foreign keys of large tables are added in one transaction. PostgreSQL 17 can limit its time.
SINCE_17 = {"transaction_timeout": "0"}


@contextlib.contextmanager
def translate_server_errors() -> Iterator[None]:
    """Raise Collision, Conflict or Unusable in place of the server's errors."""
    try:
        with translate_errors():
            yield
    except psycopg.errors.UniqueViolation as error:
        raise Collision(
            f"two rows of the copy have the same unique value: {redact_error(error)}"
        ) from error
    except (psycopg.DataError, psycopg.IntegrityError, Invalid) as error:
        raise Conflict(
            f"PostgreSQL rejects a value of the database: {redact_error(error)}"
        ) from error
    except psycopg.ProgrammingError as error:
        raise Unusable(f"the target does not support the move: {redact_error(error)}") from error


# The seconds to wait for the lock, and between two tries.
PATIENCE, AGAIN = 2.0, 0.05


class TargetConnection:
    """A connection that holds the movers' lock on the target. Raises Unusable if another has it."""

    def __init__(self, url: str) -> None:
        self._raw = _connected(url)
        if not self._alone():
            self.close()
            raise Unusable("another `tocsin migrate` is at work on this target")

    def _alone(self) -> bool:
        # The server may take a moment to notice that the former connection has ended.
        patience = time.monotonic() + PATIENCE
        while not self.value(f"SELECT pg_try_advisory_lock({LOCK})"):
            if time.monotonic() > patience:
                return False
            time.sleep(AGAIN)
        return True

    @property
    def shown(self) -> str:
        """Return the URL without its password."""
        info = self._raw.info
        database = quote(info.dbname)
        if info.host.startswith("/"):
            return f"postgresql://{quote(info.user)}@/{database}?host={quote(info.host)}"
        return f"postgresql://{quote(info.user)}@{info.host}:{info.port}/{database}"

    def run(self, sql: str, given: Sequence[Any] | None = None) -> int:
        """Execute a statement. Return how many rows it changed."""
        with translate_server_errors():
            return self._raw.execute(sql, given).rowcount

    def rows(self, sql: str, given: Sequence[Any] | None = None) -> list[Values]:
        with translate_server_errors(), self._raw.cursor(binary=True) as cursor:
            return cursor.execute(sql, given).fetchall()

    def value(self, sql: str) -> Any:
        """Return the first column of the first row, or None."""
        found = self.rows(sql)
        return found[0][0] if found else None

    def copy(self, sql: str, rows: Sequence[Values]) -> None:
        """Run a `COPY ... FROM STDIN` with these rows."""
        with translate_server_errors(), self._raw.cursor() as cursor, cursor.copy(sql) as copy:
            for row in rows:
                copy.write_row(row)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in a transaction."""
        with translate_server_errors(), self._raw.transaction():
            yield

    def close(self) -> None:
        """Close the connection, which releases the lock."""
        self._raw.close()


def _connected(url: str) -> psycopg.Connection[Values]:
    try:
        fixed = {"application_name": NAME, "client_encoding": "UTF8"}
        conninfo = make_conninfo(**{**DEFAULTS, **conninfo_to_dict(url), **fixed})
        return _prepared(psycopg.connect(conninfo, autocommit=True), conninfo)
    except psycopg.ProgrammingError as error:
        raise Unusable(f"the target is no PostgreSQL URL: {redact_error(error, url)}") from None
    except psycopg.Error as error:
        raise Unavailable(f"the target cannot be reached: {redact_error(error, url)}") from None


def _prepared(raw: psycopg.Connection[Values], conninfo: str) -> psycopg.Connection[Values]:
    try:
        require_own_sessions(raw, conninfo)
        apply_settings(raw, SETTINGS | (SINCE_17 if raw.info.server_version >= 170_000 else {}))
    except BaseException:
        raw.close()
        raise
    return raw
