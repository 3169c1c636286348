"""The listener for notifications through NOTIFY: a thread with its own connection."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable

import psycopg

from store.database.backoff import backoff_delay
from store.database.postgres import hosts
from store.database.postgres.errors import Raw, redact_error
from store.database.postgres.notify import CHANNEL, parse_hooks
from store.database.postgres.server_sessions import apply_settings

log = logging.getLogger("tocsin.store")

LONGEST_PAUSE = 10.0
# A listener is idle by nature.
LASTING = {"idle_session_timeout": "0"}


class _Listener:
    def __init__(self, conninfo: str, called: Callable[[list[int]], None]) -> None:
        self._conninfo = conninfo
        self._callback = called
        self._loop = asyncio.get_running_loop()
        self.tried = asyncio.Event()
        self._deaf = 0
        """How many times in a row it failed to listen."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tocsin-ear", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                with hosts.connect(self._conninfo) as raw:
                    apply_settings(raw, LASTING)
                    raw.execute(f"LISTEN {CHANNEL}")
                    self._begin()
                    self._receive(raw)
            except psycopg.Error as error:
                self._wait(error)

    def _begin(self) -> None:
        if self._deaf:
            # An empty list makes the worker look for work that was announced while nothing
            # listened.
            self._notify([])
        self._deaf = 0
        self._call(self.tried.set)

    def _wait(self, error: psycopg.Error) -> None:
        if self._ended.is_set():
            return
        self._deaf += 1
        if self._deaf == 1:
            log.warning("no notifications for now, polling goes on: %s", redact_error(error))
        self._call(self.tried.set)
        self._ended.wait(backoff_delay(self._deaf, longest=LONGEST_PAUSE))

    def _receive(self, raw: Raw) -> None:
        while not self._ended.is_set():
            for said in raw.notifies(timeout=0.5):
                hooks = parse_hooks(said.payload)
                if hooks is not None:
                    self._notify(hooks)

    def _notify(self, hooks: list[int]) -> None:
        self._call(lambda: self._callback(hooks))

    def _call(self, call: Callable[[], None]) -> None:
        if not self._ended.is_set():
            # If the loop is closed, nothing listens any more.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(call)

    def end(self) -> None:
        self._ended.set()


async def listen(conninfo: str, called: Callable[[list[int]], None]) -> Callable[[], None]:
    """Listen for notifications, and reconnect after every loss.

    Return, after the first try, the function that ends it.
    """
    ear = _Listener(conninfo, called)
    try:
        await ear.tried.wait()
    except BaseException:
        ear.end()
        raise
    return ear.end
