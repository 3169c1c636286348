"""Long polls: requests that wait until there is something to answer.

A request waits for a wake-up in memory. While it waits, it does not query the database.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from starlette.types import Receive

from hub.http.errors import ClientGone
from store import Store
from store.clock import SECOND
from store.database.wakeups import Waiter

# Seconds after which a waiting request notices that the server is about to end.
PACE = 0.5


@dataclass(frozen=True, slots=True)
class NothingYet:
    """The result of a handler that has nothing to answer yet.

    The handler is called again at a wake-up, or at `next_at` (microseconds) unless that is None.
    """

    next_at: int | None


class LongPoll:
    """One request that waits, for `seconds` seconds at most."""

    def __init__(
        self, store: Store, waiter: Waiter, receive: Receive, seconds: float, ending: "Ending"
    ) -> None:
        self._store = store
        self._waiter = waiter
        self._ending = ending
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + seconds
        self._receive = receive
        self._gone: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        """Return whether the request has to be answered now."""
        return self._loop.time() >= self._deadline or self._ending()

    async def wait(self, next_at: int | None) -> None:
        """Wait until a delivery may be due, or the request has to be answered.

        `next_at` is the time in microseconds at which a delivery will be due, or None.

        Raises ClientGone if the client has disconnected, so that it gets no leases. A client that
        has ended its side of the connection counts as disconnected, because it may have left.
        """
        gone = await self._watch()
        woken = asyncio.create_task(self._waiter.wait())
        try:
            while not gone.done():
                if woken.done() or self._is_due(next_at):
                    return
                left = max(self._deadline - self._loop.time(), 0.0)
                await asyncio.wait(
                    [woken, gone],
                    timeout=min(PACE, left, self._until(next_at)),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if self.over and not gone.done():
                    return
            raise ClientGone
        finally:
            woken.cancel()

    async def _watch(self) -> asyncio.Task[None]:
        """Return the task that ends when the client disconnects.

        It begins with the first wait: a request that does not wait is answered in any case.
        """
        if self._gone is None:
            self._gone = asyncio.create_task(disconnected(self._receive))
            await asyncio.sleep(0)
        return self._gone

    def _is_due(self, next_at: int | None) -> bool:
        return next_at is not None and next_at <= self._store.clock.now()

    def _until(self, next_at: int | None) -> float:
        if next_at is None:
            return PACE
        return max((next_at - self._store.clock.now()) / SECOND, 0.001)

    def close(self) -> None:
        """Stop watching the connection."""
        if self._gone is not None:
            self._gone.cancel()


Ending = Callable[[], bool]
"""Returns whether the server is about to end."""


async def disconnected(receive: Receive) -> None:
    """Wait until the client disconnects. It must have sent its whole request."""
    with contextlib.suppress(Exception):
        while (await receive())["type"] != "http.disconnect":
            pass


class LongPolls:
    """The requests that wait in this process."""

    def __init__(self, store: Store, ending: Ending) -> None:
        self._store = store
        self._ending = ending

    @contextlib.asynccontextmanager
    async def waiting(
        self, hook_id: int, receive: Receive, seconds: float
    ) -> AsyncIterator[LongPoll]:
        """Let a request wait for deliveries of a hook. Raises Busy if too many wait for it."""
        with self._store.wakeups.waiting(hook_id) as waiter:
            if seconds > 0:
                await self._store.listen_for_waiters()
            poll = LongPoll(self._store, waiter, receive, seconds, self._ending)
            try:
                yield poll
            finally:
                poll.close()
