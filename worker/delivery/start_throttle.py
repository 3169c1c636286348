"""How much is begun at a time: whatever else the event loop has to do, above all taking in events,
waits for no more than that.
"""

import asyncio
from collections.abc import Callable
from functools import cached_property
from time import thread_time

# A request that is begun and what comes of it cost some 70 us.
MAX_STARTS = 128
# While a crowd waits for what it writes, senders of events who may give up, deliveries have a part
# of the time: so many, each so many seconds.
CONTENDED_WRITES = 4
CONTENDED_STARTS, CONTENDED_PAUSE = 6, 0.005
# And more, each some COST seconds, where the loop was idle for more than this share of the time: it
# is the disk then that the crowd waits for.
IDLE, COST = 0.4, 70e-6
# Seconds for which a crowd that was there is thought to be there.
CONTENDED_SECONDS = 0.03


class StartThrottle:
    """Counts what is begun in one pass of the loop. `awaited` says how many wait for the store;
    `again` is called when there may be more.
    """

    def __init__(self, awaited: Callable[[], int], again: Callable[[], None]) -> None:
        self._pending_writes = awaited
        self._resume = again
        self._begun = 0
        self._most = MAX_STARTS
        self._counting = False
        self._crowded_until = 0.0
        self._counted_at = self._busy = 0.0

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        # Kept: to ask for it is a system call in Python 3.11.
        return asyncio.get_running_loop()

    @property
    def over(self) -> bool:
        """Whether nothing more is to be begun for the moment."""
        return self._begun >= self._most

    def begin(self) -> None:
        """Count one more."""
        self._begun += 1
        if not self._counting:
            self._counting = True
            self._open_window()

    def _open_window(self) -> None:
        now = self._loop.time()
        if self._pending_writes() >= CONTENDED_WRITES:
            self._crowded_until = now + CONTENDED_SECONDS
        if now < self._crowded_until:
            self._most = CONTENDED_STARTS + self._extra_starts(now)
            self._loop.call_later(CONTENDED_PAUSE, self._close_window)
        else:
            self._most = MAX_STARTS
            self._loop.call_soon(self._close_window)

    def _extra_starts(self, now: float) -> int:
        """How many more there is time for, by what this thread did since the last portion."""
        passed, self._counted_at = now - self._counted_at, now
        before, self._busy = self._busy, thread_time()
        busy = self._busy - before
        idle = 1 - busy / passed if passed > 0 else 0.0
        return min(
            round(max(idle - IDLE, 0.0) * CONTENDED_PAUSE / COST), MAX_STARTS - CONTENDED_STARTS
        )

    def _close_window(self) -> None:
        full, self._counting, self._begun = self.over, False, 0
        if full:
            self._resume()
