"""Wake-up through NOTIFY: the heralds of PostgreSQL, and who listens to them.

A notification may be lost with its connection; the worker's slow poll is the net beneath.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Collection, Iterable, Sequence

import orjson
import psycopg

from store.backoff import pause
from store.courier import MOST_HOOKS, Offer
from store.errors import StoreError
from store.postgres_errors import Raw, plain, translated
from store.postgres_pool import Connections

log = logging.getLogger("tocsin.store")

CHANNEL = "tocsin"
# A notification holds 8,000 bytes; whoever is told of no hook in particular looks at all of them.
MOST_BYTES = 7_000
LONGEST_PAUSE = 10.0


class PostgresHerald:
    """Announces to workers of other processes (store.courier.Courier), from a thread of its own:
    who announces must not wait for the network. What piles up is announced at once.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._queue: queue.SimpleQueue[list[int] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def lease(self) -> int | None:
        return None

    def full(self) -> Collection[int]:
        return ()

    def offer(self, offers: Sequence[Offer]) -> None:
        raise AssertionError("nothing is leased here, so nothing can be offered")

    def wake(self, hooks: Iterable[int]) -> None:
        if self._thread is None:
    def arrived(self) -> None:
        """What becomes of events but deliveries can wait until a worker looks."""

            self._thread = threading.Thread(target=self._run, name="tocsin-herald", daemon=True)
            self._thread.start()
        self._queue.put(list(hooks))

    def _run(self) -> None:
        open_ = True
        while open_:
            taken = [self._queue.get()]
            while not self._queue.empty():
                taken.append(self._queue.get())
            told = {hook for hooks in taken if hooks is not None for hook in hooks}
            open_ = None not in taken
            if told:
                self._announce(told)

    def _announce(self, hooks: set[int]) -> None:
        try:
            raw = self._connections.borrow()
            try:
                with translated():
                    raw.execute("SELECT pg_notify(%s, %s)", [CHANNEL, _message(hooks)])
            finally:
                self._connections.give_back(raw)
        except StoreError as error:
            log.warning("a wake-up was not sent, workers find it by themselves: %s", error)

    def close(self) -> None:
        """Announce what is left, then end."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(timeout=10)
            self._thread = None


def _message(hooks: set[int]) -> str:
    message = orjson.dumps(sorted(hooks))
    return message.decode() if len(hooks) <= MOST_HOOKS and len(message) <= MOST_BYTES else "[]"


def _hooks(message: str) -> list[int] | None:
    """What a message names; None for one that no herald wrote."""
    try:
        found = orjson.loads(message)
    except orjson.JSONDecodeError:
        return None
    known = isinstance(found, list) and all(isinstance(hook, int) for hook in found)
    return found if known else None


class _Ear:
    def __init__(self, conninfo: str, called: Callable[[list[int]], None]) -> None:
        self._conninfo = conninfo
        self._called = called
        self._loop = asyncio.get_running_loop()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tocsin-ear", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        tries = 0
        while not self._ended.is_set():
            try:
                with psycopg.connect(self._conninfo, autocommit=True) as raw:
                    raw.execute(f"LISTEN {CHANNEL}")
                    tries = 0
                    # What was said while nobody listened is found by looking.
                    self._tell([])
                    self._listen(raw)
            except psycopg.Error as error:
                tries += 1
                log.warning("no wake-ups for now, the poll goes on: %s", plain(error))
                self._ended.wait(pause(tries, longest=LONGEST_PAUSE))

    def _listen(self, raw: Raw) -> None:
        while not self._ended.is_set():
            for said in raw.notifies(timeout=0.5):
                hooks = _hooks(said.payload)
                if hooks is not None:
                    self._tell(hooks)

    def _tell(self, hooks: list[int]) -> None:
        if not self._ended.is_set() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._called, hooks)

    def end(self) -> None:
        self._ended.set()


async def hear(conninfo: str, called: Callable[[list[int]], None]) -> Callable[[], None]:
    """Listen to heralds, again after every loss; returns what ends it."""
    return _Ear(conninfo, called).end
