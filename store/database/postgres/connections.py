"""PostgreSQL's sessions: each borrows a connection from the pool for one transaction at a time."""

import contextlib
import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg import errors, generators
from psycopg.pq import TransactionStatus

from store.crypto.vault import Vault
from store.database.notifications import StoreNotifier
from store.database.postgres.dialect import (
    OLDEST_WRITER,
    WRITERS,
    copy_rows,
    json_rows,
    to_pyformat,
)
from store.database.postgres.errors import Raw, translate_errors
from store.database.postgres.pool import PostgresPool
from store.database.statements import DbCursor, Statements
from store.errors import Contended, Locked, StoreError, Unavailable

T = TypeVar("T")
# For this many rows or more, COPY is cheaper than INSERT, though it takes two round trips.
COPIED = 4
# Statements that write nothing; an EXPLAIN of this form does not run its statement.
READS = ("SELECT", "WITH", "EXPLAIN (FORMAT")
# The errors of a statement whose rows another transaction inserted or deleted at the same time.
CONFLICTS = (errors.UniqueViolation, errors.ForeignKeyViolation)
# The server's function that reports a lock timeout. NOWAIT has the same code, and another function.
LOCK_TIMEOUT = "ProcessInterrupts"
HURRY = "SET LOCAL lock_timeout = '10ms'"
# Both statements take one round trip.
UNSYNCED = "BEGIN; SET LOCAL synchronous_commit = off"
# The third one is of PostgreSQL 17.
NO_TIMEOUT = (
    "SELECT set_config(name, '0', true) FROM pg_settings"
    " WHERE name IN ('lock_timeout', 'statement_timeout', 'transaction_timeout')"
)


class PostgresSession(Statements):
    """A connection for the length of a transaction (store.database.connection.Session)."""

    placeholder = "${}"
    skip_locked = " FOR UPDATE SKIP LOCKED"
    for_share = " FOR SHARE"
    chunks = (256, 64, 16, 4, 1)

    def __init__(
        self, connections: PostgresPool, vault: Vault, notifier: Callable[[], StoreNotifier]
    ) -> None:
        super().__init__(vault, notifier)
        self._connections = connections
        self._raw: Raw | None = None
        self._broken = False
        self._write = False
        self._timed_out = False
        self._patience: str | None = None
        self._wait_for_locks(True)

    @property
    def db(self) -> "PostgresSession":
        return self

    def run(self, sql: str, parameters: dict[str, Any] | list[Any]) -> psycopg.Cursor[Any]:
        self._check(sql)
        if isinstance(parameters, dict):
            parameters.setdefault("now", self.now)
            return self._tried(lambda raw: raw.execute(to_pyformat(sql), parameters))
        # This driver class does not search the statement for thousands of `%s` at each call.
        return self._tried(lambda raw: psycopg.RawCursor(raw).execute(sql, parameters))

    def _check(self, sql: str) -> None:
        assert self._raw is not None, "a statement outside of a transaction"
        if not self._write and not sql.startswith(READS):
            raise StoreError("a read does not write: each of its statements is committed by itself")

    def names(self, cursor: DbCursor) -> list[str]:
        # `description` makes an object for each column, which takes ten times as long.
        assert isinstance(cursor, psycopg.Cursor)
        result = cursor.pgresult
        found = [] if result is None else map(result.fname, range(result.nfields))
        return [name.decode() for name in found if name is not None]

    def insert_many(
        self, table: str, columns: str, rows: Sequence[Sequence[Any]], then: str = ""
    ) -> list[tuple[Any, ...]]:
        if then or len(rows) < COPIED:
            return super().insert_many(table, columns, rows, then)
        self.copy(f"COPY {table} ({columns}) FROM STDIN", rows)
        return []

    def copy(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows as a stream, in one statement however many they are."""
        self._check(sql)
        self._tried(lambda raw: copy_rows(raw, sql, rows))

    def _tried(self, call: Callable[[Raw], T]) -> T:
        assert self._raw is not None
        try:
            with translate_errors():
                return call(self._raw)
        except Unavailable as error:
            cause = error.__cause__
            if not self._waits and isinstance(cause, errors.LockNotAvailable):
                self._timed_out |= cause.diag.source_function == LOCK_TIMEOUT
                raise Locked(str(error)) from error
            # The connection is lost, or was opened while the database was read-only, and stays so.
            self._broken = not isinstance(error, Contended)
            raise

    def each(self, parameter: str, **columns: str) -> str:
        return json_rows(parameter, columns)

    def chosen(self, query: str) -> str:
        # The planner may run a subquery in IN (...) once for each row, and skip rows that it
        # changed.
        return f"= ANY (ARRAY({query}))"

    def lateral(self, table: str, alias: str, query: str) -> str:
        return f"CROSS JOIN LATERAL ({query}) AS {alias}"

    def alone(self, name: str) -> None:
        key = {"key": zlib.crc32(name.encode())}
        if self._waits:
            self.run("SELECT pg_advisory_xact_lock(:key)", key)
        elif not self.value("SELECT pg_try_advisory_xact_lock(:key)", **key):
            raise Locked(f"another transaction has the lock {name!r}")

    def release(self) -> None:
        super().release()
        # The locks since the savepoint are kept until the commit. If others wait for them, and this
        # transaction waited for others, that could be a deadlock.
        self._wait_for_locks(False)

    def undo(self) -> None:
        super().undo()
        if self._timed_out and self._patience is None:
            # The next parts of the group may need the same lock. If each waited as long for it, all
            # of them together could wait for minutes.
            self._patience = self.value("SHOW lock_timeout")
            self.control(HURRY)

    def _wait_for_locks(self, waits: bool) -> None:
        self._waits = waits
        or_fail = "" if waits else " NOWAIT"
        self.for_update = f" FOR UPDATE{or_fail}"
        self.for_change = f" FOR NO KEY UPDATE{or_fail}"

    def writers(self, table: str) -> frozenset[str]:
        return frozenset(self.column(WRITERS, name=table))

    def oldest_writer(self, table: str) -> int | None:
        return self.optional_number(OLDEST_WRITER, name=table)

    def require_thread(self) -> None:
        """Do nothing: reads never run on the event loop."""

    def no_timeout(self) -> None:
        self.control(NO_TIMEOUT)

    def begin(self, now: int, *, write: bool, durable: bool = True, bounded: bool = False) -> None:
        self.now = now
        self._write = write
        self._wait_for_locks(True)
        self._timed_out, self._patience = False, None
        self._start_anew()
        self._raw = self._connections.acquire()
        # With BEGIN or without, each statement of a read sees what is committed when it starts.
        if write:
            try:
                self.control("BEGIN" if durable else UNSYNCED)
            except BaseException:
                self.rollback()
                raise

    def control(self, sql: str) -> None:
        # Two commands in one statement cannot be prepared, and these statements have no plan to
        # reuse.
        self._tried(lambda raw: raw.execute(sql, prepare=False))

    def commit(self) -> None:
        assert self._raw is not None
        # All transactions take the locks before a commit in one order.
        self._wait_for_locks(True)
        if self._patience is not None:
            self.control(f"SET LOCAL lock_timeout = '{self._patience}'")
        self._run_before_commit()
        status = self._raw.info.transaction_status
        # The server would answer COMMIT with a rollback, and report no error.
        assert status != TransactionStatus.INERROR, "a statement has failed and was passed over"
        if status != TransactionStatus.IDLE:
            self.control("COMMIT")
        self._give_back()

    def rollback(self) -> None:
        if self._raw is None:
            return
        # A lost connection has rolled back already, and the pool replaces it.
        with contextlib.suppress(psycopg.Error):
            _roll_back(self._raw)
        self._give_back()

    def _give_back(self) -> None:
        assert self._raw is not None
        self._connections.give_back(self._raw, useless=self._broken)
        self._raw, self._broken = None, False

    def is_conflict(self, error: Exception) -> bool:
        return isinstance(error, CONFLICTS)

    def close(self) -> None:
        self.rollback()


def _roll_back(raw: Raw) -> None:
    """Undo the transaction. The driver's own method would also drop all prepared statements.

    They would be parsed and planned once more after each request that is answered with an error.
    They stay valid, because no transaction that other statements follow changes the schema.
    """
    if raw.info.transaction_status != TransactionStatus.IDLE:
        raw.pgconn.send_query(b"ROLLBACK")
        raw.wait(generators.execute(raw.pgconn))
