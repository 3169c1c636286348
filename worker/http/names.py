"""The look-ups of names by the system's resolver, so that slow names do not delay healthy ones.

A look-up holds a thread until the system answers, because it cannot be ended. So each name waits
only for names of its own kind: those whose last look-ups were quick, new ones, and slow ones. The
end of the process waits for no look-up.
"""

import asyncio
import contextlib
import socket
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from worker.http.daemon_threads import DaemonThreads

QUICK, NEW, SLOW = "quick", "new", "slow"
# A name that was quick may hang too. It keeps its thread until the system gives up, so quick names
# have the most threads. A pool starts a thread only if none is free.
THREADS = {QUICK: 64, NEW: 32, SLOW: 8}
SLOW_SECONDS = 1.0
"""A name is slow if its last look-up took as long, whether it succeeded or not."""
FORGET_SECONDS = 600.0
"""After this time a slow name counts as new, because its servers may work again."""
QUICK_ANSWERS = 3
"""A name that was slow is quick after so many quick answers in a row, and new from the first."""
MAX_NAMES = 10_000
"""How many quick names, and how many slow ones, are remembered."""


class NoThreadStarts(OSError):
    """The system starts no thread for a look-up, and none is free."""


@dataclass(slots=True)
class LookUp:
    """A look-up that has not ended, and the number of tasks that wait for it."""

    work: "Future[list[str]]"
    waiting: int = 0


class NameResolver:
    """The system's resolver. Tasks that ask for one name share one look-up."""

    def __init__(self) -> None:
        self._threads: dict[str, DaemonThreads[list[str]]] = {
            kind: DaemonThreads(many, f"resolve-{kind}") for kind, many in THREADS.items()
        }
        self._names = NameKinds()
        self._open: dict[str, LookUp] = {}

    async def resolve(self, host: str, _port: int) -> list[str]:
        """Return the addresses of a name. Raises OSError if there are none. If no thread looks
        for them, that is NoThreadStarts.

        If no task waits any more, a look-up that has not begun is dropped. One that has begun
        continues, and the next task that asks for the name joins it.
        """
        look_up = self._open.get(host) or self._begin(host)
        look_up.waiting += 1
        try:
            await _ended(look_up.work)
        finally:
            look_up.waiting -= 1
            if not look_up.waiting:
                look_up.work.cancel()
        if look_up.work.cancelled():
            raise OSError("the resolver is closed")
        return look_up.work.result()

    def close(self) -> None:
        """Let the threads end, and drop look-ups that have not begun."""
        for pool in self._threads.values():
            pool.close()

    def _begin(self, host: str) -> LookUp:
        pool = self._threads[self._names.kind(host, monotonic())]
        try:
            work = pool.submit(partial(self._look_up, host))
        except RuntimeError:
            raise NoThreadStarts("the system starts no more threads") from None
        look_up = self._open[host] = LookUp(work)
        look_up.work.add_done_callback(lambda _: self._open.pop(host, None))
        return look_up

    def _look_up(self, host: str) -> list[str]:
        begun, found = monotonic(), False
        try:
            # The name is passed as bytes, so that the resolver gets it unchanged.
            answers = socket.getaddrinfo(host.encode(), None, 0, socket.SOCK_STREAM)
            found = True
            return [str(sockaddr[0]) for *_, sockaddr in answers]
        finally:
            self._names.note(host, begun, monotonic(), found=found)


async def _ended(work: "Future[list[str]]") -> None:
    """Wait for the end of a look-up. If the caller is cancelled, the look-up continues."""
    loop = asyncio.get_running_loop()
    end = asyncio.Event()

    def wake(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nothing waits any more
            loop.call_soon_threadsafe(end.set)

    work.add_done_callback(wake)
    await end.wait()


class SlowName(NamedTuple):
    """When a slow look-up ended, and the quick answers in a row since then."""

    ended: float
    answers: int = 0


class NameKinds:
    """The kinds of names, by their last look-ups. Any thread may use it."""

    def __init__(self, max_names: int = MAX_NAMES) -> None:
        self._max_names = max_names
        self._quick: dict[str, float] = {}
        self._slow: dict[str, SlowName] = {}
        self._lock = Lock()

    def kind(self, host: str, now: float) -> str:
        if host in self._quick:
            return QUICK
        slow = self._slow.get(host)
        if slow is None or slow.answers or slow.ended + FORGET_SECONDS < now:
            return NEW
        return SLOW

    def note(self, host: str, begun: float, ended: float, *, found: bool) -> None:
        """Remember how a look-up went.

        A quick name that fails fast counts as new: it delays little. A slow one remains slow.
        """
        with self._lock:
            self._quick.pop(host, None)
            slow = self._slow.pop(host, None)
            if ended - begun >= SLOW_SECONDS:
                slow = SlowName(ended)
            elif slow is not None:
                slow = slow._replace(answers=slow.answers + 1 if found else 0)
            if slow is not None and slow.answers < QUICK_ANSWERS:
                self._slow[host] = slow
                _drop_oldest(self._slow, self._max_names)
            elif found:
                self._quick[host] = ended
                _drop_oldest(self._quick, self._max_names)


def _drop_oldest(names: dict[str, Any], most: int) -> None:
    if len(names) > most:
        del names[next(iter(names))]
