"""The pauses of jobs, in which other work has its turn."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from store import Connection, Store

# Seconds until a job runs again if another transaction held what was due.
PAUSE = 1.0
# MOST is the longest pause after a transaction, as a multiple of its duration. CROWD lengthens the
# pause if others wait for the writer.
MOST, CROWD = 20, 3

Sleep = Callable[[float], Awaitable[None]]


async def pause_if_due(
    store: Store,
    next_due: Callable[[Connection], int | None],
    began: int,
    sleep: Sleep = asyncio.sleep,
) -> None:
    """Pause if something is left that was due at `began`, when the run began.

    Otherwise the job would run again at once, without end. For what has become due since, it does.
    """
    due = await store.read(next_due)
    if due is not None and due <= began:
        await sleep(PAUSE)


class Pacer:
    """The pauses after transactions, which let other work go first.

    A pause lasts at least as long as the transaction. It is longer if others wait for the writer,
    and much longer if this process, which has one processor, uses most of it for other work.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        processor_time: Callable[[], float] = time.process_time,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._clock, self._processor_time, self._sleep = clock, processor_time, sleep
        self.processor = self.writer = 0.0
        """The shares of the processor and of the writer that others have used lately: 0 to 1."""

    async def rest(self, worked: float, waited: float = 0.0) -> None:
        """Pause after `worked` seconds of work and `waited` seconds of waiting for the writer."""
        self.writer = _mean(self.writer, waited, worked + waited)
        times = max(min(1 / (1 - self.processor + 1e-9) ** 2, MOST), 1 + CROWD * self.writer)
        wall, processor = self._clock(), self._processor_time()
        await self._sleep(worked * times)
        wall, processor = self._clock() - wall, self._processor_time() - processor
        self.processor = _mean(self.processor, processor, wall)


def _mean(before: float, part: float, whole: float) -> float:
    return (before + min(part / whole, 1.0)) / 2 if whole > 0 else before
