"""Notifications to workers through NOTIFY.

A notification may be lost with its connection. The worker finds its deliveries by polling then.
"""

import logging
import queue
import threading
from collections.abc import Iterable

import orjson
import psycopg

from store.database.notifications import MOST_HOOKS, RemoteNotifier
from store.database.postgres.errors import translate_errors
from store.database.postgres.pool import PostgresPool
from store.errors import StoreError

log = logging.getLogger("tocsin.store")

CHANNEL = "tocsin"
# A notification holds up to 8,000 bytes. If it names no hook, the worker looks at all of them.
MOST_BYTES = 7_000


class PostgresNotifier(RemoteNotifier):
    """Notifies workers in other processes (`notifications.WorkerNotifier`).

    It has its own thread, because its callers must not wait for the network. Notifications that
    pile up are sent as one.
    """

    def __init__(self, connections: PostgresPool) -> None:
        self._connections = connections
        self._queue: queue.SimpleQueue[list[int] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self.failing = False
        """Whether sending fails at present, which is logged once."""

    def wake(self, hooks: Iterable[int]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="tocsin-herald", daemon=True)
            self._thread.start()
        self._queue.put(list(hooks))

    def arrived(self) -> None:
        """Do nothing: everything but deliveries can wait for the worker's next poll."""

    def _run(self) -> None:
        open_ = True
        while open_:
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get())
            hooks_due = {hook for hooks in batch if hooks is not None for hook in hooks}
            open_ = None not in batch
            if hooks_due:
                self._send(hooks_due)

    def _send(self, hooks: set[int]) -> None:
        try:
            raw = self._connections.acquire()
            try:
                with translate_errors():
                    raw.execute("SELECT pg_notify(%s, %s)", [CHANNEL, format_hooks(hooks)])
            finally:
                self._connections.give_back(raw)
            self.failing = False
        except (StoreError, psycopg.Error) as error:
            # Not every database that speaks PostgreSQL's protocol has NOTIFY.
            if not self.failing:
                log.warning("notifications are not sent, workers poll meanwhile: %s", error)
            self.failing = True

    def close(self) -> None:
        """Send the remaining notifications, then end the thread."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(timeout=10)
            self._thread = None


def format_hooks(hooks: set[int]) -> str:
    """Return the message for these hooks; if they are too many, it names none."""
    message = orjson.dumps(sorted(hooks))
    return message.decode() if len(hooks) <= MOST_HOOKS and len(message) <= MOST_BYTES else "[]"


def parse_hooks(message: str) -> list[int] | None:
    """Return the hook ids in a notification, or None if its format is unknown."""
    try:
        found = orjson.loads(message)
    except orjson.JSONDecodeError:
        return None
    known = isinstance(found, list) and all(isinstance(hook, int) for hook in found)
    return found if known else None
