"""PostgreSQL's connection pool, which fails fast while the database is known to be unreachable."""

import contextlib
import logging
import os
import random
import select
import socket
import threading
import time
from typing import Any, ClassVar
from weakref import WeakKeyDictionary, WeakSet

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from store.database.postgres import hosts
from store.database.postgres.clock import PostgresClock
from store.database.postgres.errors import Raw, redact_error, translate_errors
from store.database.postgres.history import ServerHistory
from store.database.postgres.server_sessions import apply_settings
from store.errors import Unavailable

# The caller that asked for a connection reports the failure, so the pool need not log each try.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)

MOST = 8
# Seconds to wait for a connection before Unavailable is raised.
PATIENCE = 5.0
# Seconds to wait for the first one. The server was reached just before. That may take longer, if
# one of its addresses does not answer.
FIRST_PATIENCE = 30.0
# While the database is known to be unreachable, one caller at a time tries to connect: for BRIEF
# seconds, and the next one about EVERY seconds later.
BRIEF = 1.0
EVERY = 0.5
# Seconds for which a connection keeps its plans. Without them, an event alone would take a third
# longer. A plan that is kept for longer, and was made for a small table, would scan the whole table
# when it has grown.
PLAN_SECONDS = 5.0
# The most prepared statements of a connection. The API has more statements than the driver's 100,
# and those used in turn would push one another out. One takes about 40 kB of the server.
STATEMENTS = 300
# A statement or a lock that takes longer than these fails, and its caller retries.
LIMITS = {
    "lock_timeout": "10s",
    "statement_timeout": "60s",
    "idle_in_transaction_session_timeout": "60s",
}
# Whatever the server's default is: after a lock is acquired, the next statement must see what the
# lock's last owner committed.
ISOLATION = "SET default_transaction_isolation = 'read committed'"
# An accepted event is on disk. A server may have this off for other programs. Other values stay.
DURABLE = {"synchronous_commit": "on"}
IN_USE = "all connections are in use"
UNANSWERED = "the server, or the look-up of its name, does not answer"


class ErrorTrackingConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose class keeps the reason why the last one could not be made."""

    last_error: ClassVar[str] = IN_USE

    @classmethod
    def connect(cls, conninfo: str = "", **given: Any) -> "ErrorTrackingConnection":
        try:
            raw = super().connect(hosts.in_order(conninfo), **given)
        except psycopg.Error as error:
            cls.last_error = redact_error(error)
            raise
        hosts.remember(conninfo, raw)
        return raw


class PostgresPool:
    """Lends connections, each to one borrower at a time."""

    def __init__(self, conninfo: str, clock: PostgresClock) -> None:
        self._clock = clock
        self._history = ServerHistory()
        self._lock = threading.Lock()
        self._away: str | None = None
        self._lent = False
        self._ask_at = 0.0
        self._planned_since: WeakKeyDictionary[Raw, float] = WeakKeyDictionary()
        self._open: WeakSet[Raw] = WeakSet()
        self._pool: ConnectionPool[Raw] = ConnectionPool(
            conninfo,
            connection_class=ErrorTrackingConnection,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=MOST,
            timeout=PATIENCE,
            # With a longer timeout, the pool's pauses become as long as the outage was.
            reconnect_timeout=PATIENCE,
            max_idle=60,
            configure=self._prepare,
            check=self._check,
            open=True,
        )

    def acquire(self) -> Raw:
        """Return a working connection. Raises Unavailable, at once if the outage is known."""
        self._fail_fast()
        try:
            raw = self._lend()
        except Unavailable as error:
            self._away = str(error)
            self._ask_at = time.monotonic() + EVERY * random.uniform(0.5, 1.5)  # noqa: S311 - spreads load
            raise
        self._away, self._lent = None, True
        return raw

    @property
    def _patience(self) -> float:
        if self._away is not None:
            return BRIEF
        return PATIENCE if self._lent else FIRST_PATIENCE

    def _lend(self) -> Raw:
        try:
            with translate_errors():
                return self._pool.getconn(self._patience)
        except Unavailable as error:
            if isinstance(error.__cause__, PoolTimeout):
                raise Unavailable(
                    f"there is no connection to the database: {self._reason()}"
                ) from error
            raise

    def _reason(self) -> str:
        """Return why there is no connection."""
        reason = ErrorTrackingConnection.last_error
        with self._lock:
            opened = sum(not raw.closed for raw in self._open)
        return UNANSWERED if reason == IN_USE and opened < MOST else reason

    def _fail_fast(self) -> None:
        if self._away is None:
            return
        with self._lock:
            now = time.monotonic()
            if self._away is not None and now < self._ask_at:
                raise Unavailable(self._away)
            # One caller tries to connect; the others do not wait for the result.
            self._ask_at = now + 2 * PATIENCE

    def _prepare(self, raw: Raw) -> None:
        with self._lock:
            self._open.add(raw)
        try:
            _prepare_session(raw)
            self._history.check(raw)
        except psycopg.Error as error:
            ErrorTrackingConnection.last_error = redact_error(error)
            raise
        # An error from before does not explain why there is no connection later.
        ErrorTrackingConnection.last_error = IN_USE

    def _check(self, raw: Raw) -> None:
        try:
            if not _nothing_received(raw):
                raw.execute("")
            if self._clock.stale:
                self._clock.measure(raw)
            self._discard_old_plans(raw)
        except psycopg.Error:
            # The other connections are as old, so all that are lost are replaced together.
            self._pool.check()
            raise

    def _discard_old_plans(self, raw: Raw) -> None:
        now = time.monotonic()
        if now - self._planned_since.setdefault(raw, now) >= PLAN_SECONDS:
            self._planned_since[raw] = now
            raw.execute("DISCARD PLANS")

    def give_back(self, raw: Raw, *, useless: bool = False) -> None:
        """Return a connection to the pool. If it is useless, the pool replaces it."""
        if useless or self._history.is_early(raw):
            raw.close()
        self._pool.putconn(raw)

    def disconnect(self) -> None:
        """Lend no more connections, and cut those that are in use.

        Without that, a thread would wait for the answer of a frozen server for as long as the
        server's machine acknowledges what it gets.
        """
        self._pool.close(timeout=0)
        with self._lock:
            connections = [*self._open]
        for raw in connections:
            with contextlib.suppress(OSError, psycopg.Error):
                _cut(raw)

    def close(self) -> None:
        self._pool.close()


def _cut(raw: Raw) -> None:
    """Let the thread that waits for an answer on this connection see its end."""
    # The connection is its thread's, which closes it.
    with socket.socket(fileno=os.dup(raw.fileno())) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)


def _prepare_session(raw: Raw) -> None:
    raw.prepared_max = STATEMENTS
    raw.execute(ISOLATION)
    apply_settings(raw, LIMITS)
    if raw.execute("SHOW synchronous_commit").fetchone() == ("off",):
        apply_settings(raw, DURABLE)


def _nothing_received(raw: Raw) -> bool:
    """Return whether the server has sent nothing unasked, such as the end of the connection.

    Asking the server instead would need a round trip for each transaction.
    """
    heard = select.poll()
    heard.register(raw.fileno(), select.POLLIN)
    return not heard.poll(0)
