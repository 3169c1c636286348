"""Answers that are kept for a moment, so that asking often costs what asking once does."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class TTLCache(Generic[T]):
    """The answer to `ask`, which is asked by one at a time and not again for some seconds."""

    def __init__(self, ask: Callable[[], Awaitable[T]], seconds: float = 1.0) -> None:
        self._ask = ask
        self._seconds = seconds
        self._until = 0.0
        self._asking: asyncio.Task[T] | None = None

    async def get(self, patience: float) -> T:
        """The answer, or the error that there was instead; TimeoutError if there is none after
        `patience` seconds. It is waited for on, so that the next one does not ask beside it.
        """
        if self._asking is None or (self._asking.done() and time.monotonic() >= self._until):
            self._asking = asyncio.get_running_loop().create_task(self._fresh())
            # Whoever asked may have lost patience, and then nobody hears of an error.
            self._asking.add_done_callback(lambda task: task.cancelled() or task.exception())
        done, _ = await asyncio.wait([self._asking], timeout=patience)
        if not done:
            raise TimeoutError
        return self._asking.result()

    async def _fresh(self) -> T:
        try:
            return await self._ask()
        finally:
            self._until = time.monotonic() + self._seconds

    async def close(self) -> None:
        """Ask no more."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])
