"""A short-lived cache for one result, so that many requests cost as much as one."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class TTLCache(Generic[T]):
    """Caches the result of `ask`, or its error, for some seconds of `clock`.

    `ask` never runs twice at the same time: callers share its run, even if it is cached for 0 s.
    """

    def __init__(
        self,
        ask: Callable[[], Awaitable[T]],
        seconds: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self.seconds = seconds
        self._until = 0.0
        self._asking: asyncio.Task[T] | None = None

    async def get(self, patience: float | None = None) -> T:
        """Return the result, or raise the error that `ask` raised.

        Raises TimeoutError after `patience` seconds, if given. `ask` then runs on, so that the next
        caller waits for the same call.
        """
        if self._asking is None or (self._asking.done() and self._clock() >= self._until):
            self._asking = asyncio.get_running_loop().create_task(self._fresh())
            # If all callers have timed out, an unread error would be logged by asyncio.
            self._asking.add_done_callback(lambda task: task.cancelled() or task.exception())
        # When this caller wakes up, another one may have begun the next run already.
        asking = self._asking
        done, _ = await asyncio.wait([asking], timeout=patience)
        if not done:
            raise TimeoutError
        return asking.result()

    async def _fresh(self) -> T:
        try:
            return await self._ask()
        finally:
            self._until = self._clock() + self.seconds

    def expire(self) -> None:
        """Have the next caller run `ask` again."""
        self._until = self._clock()

    async def close(self) -> None:
        """Cancel a running `ask`."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])
