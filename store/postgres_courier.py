"""Wake-up through NOTIFY: the heralds of PostgreSQL, and who listens to them.

A notification may be lost with its connection; the worker's slow poll is the net beneath.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import orjson
import psycopg
from psycopg_pool import PoolTimeout

from store.courier import MOST_HOOKS, Offer
from store.postgres import Pool

log = logging.getLogger("tocsin.store")

CHANNEL = "tocsin"
LONGEST_PAUSE = 10.0


class PostgresHerald:
    """Announces to workers of other processes (store.courier.Courier), from a thread of its own:
    who announces must not wait for the network. What piles up is announced at once.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
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
            self._thread = threading.Thread(target=self._run, name="tocsin-herald", daemon=True)
            self._thread.start()
        self._queue.put(list(hooks))

    def _run(self) -> None:
        hooks = self._queue.get()
        while hooks is not None:
            told = set(hooks)
            while not self._queue.empty() and (more := self._queue.get()) is not None:
                told.update(more)
            self._announce(told)
            hooks = self._queue.get()

    def _announce(self, hooks: set[int]) -> None:
        message = orjson.dumps(sorted(hooks) if len(hooks) <= MOST_HOOKS else []).decode()
        try:
            with self._pool.connection() as raw:
                raw.execute("SELECT pg_notify(%s, %s)", [CHANNEL, message])
        except (psycopg.Error, PoolTimeout) as error:
            log.warning("a wake-up was not sent, workers find it by themselves: %s", error)

    def close(self) -> None:
        """Announce what is left, then end."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(timeout=10)
            self._thread = None


class _Ear:
    def __init__(self, url: str, called: Callable[[list[int]], None]) -> None:
        self._url = url
        self._called = called
        self._loop = asyncio.get_running_loop()
        self._ended = threading.Event()
        self.ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tocsin-ear", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        pause = 0.1
        while not self._ended.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True) as raw:
                    raw.execute(f"LISTEN {CHANNEL}")
                    pause = 0.1
                    self.ready.set()
                    # What was said while nobody listened is found by looking.
                    self._tell([])
                    self._listen(raw)
            except psycopg.Error as error:
                log.warning("no wake-ups for now, the poll goes on: %s", str(error).strip())
                self._ended.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE)

    def _listen(self, raw: psycopg.Connection[Any]) -> None:
        while not self._ended.is_set():
            for said in raw.notifies(timeout=0.5):
                hooks = orjson.loads(said.payload)
                self._tell([hook for hook in hooks if isinstance(hook, int)])

    def _tell(self, hooks: list[int]) -> None:
        if not self._ended.is_set():
            self._loop.call_soon_threadsafe(self._called, hooks)

    def end(self) -> None:
        self._ended.set()


async def hear(url: str, called: Callable[[list[int]], None]) -> Callable[[], None]:
    """Listen to heralds, again after every loss; returns what ends it."""
    return _Ear(url, called).end
