"""How many deliveries start in one pass of the event loop, so that all other work, above all
receiving events, waits for no more than that.
"""

import asyncio
from collections.abc import Callable
from functools import cached_property
from time import thread_time

# A request and its outcome cost some 70 us.
MAX_STARTS = 128
# While many senders of events wait for their writes, deliveries have a part of the time: so many
# starts, each so many seconds.
CONTENDED_WRITES = 4
CONTENDED_STARTS, CONTENDED_PAUSE = 6, 0.005
# If the loop was idle for more than this share of the time, the senders wait for the disk. Then
# more deliveries start, each some COST seconds.
IDLE, COST = 0.4, 70e-6
# Seconds for which senders that waited are assumed to wait.
CONTENDED_SECONDS = 0.03


class StartThrottle:
    """Counts starts. `pending_writes` says how many callers wait for the store. `resume` is called
    when more may start. `busy_time` is the seconds that this thread has worked.
    """

    def __init__(
        self,
        pending_writes: Callable[[], int],
        resume: Callable[[], None],
        busy_time: Callable[[], float] = thread_time,
    ) -> None:
        self._pending_writes = pending_writes
        self._resume = resume
        self._busy_time = busy_time
        self._started = 0
        self._most = MAX_STARTS
        self._counting = False
        self._contended_until = 0.0
        self._counted_at = self._busy = 0.0

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        # Kept: to ask for it is a system call in Python 3.11.
        return asyncio.get_running_loop()

    @property
    def exhausted(self) -> bool:
        """Whether nothing more may start in this pass."""
        return self._started >= self._most

    def count(self) -> None:
        """Count one start."""
        self._started += 1
        if not self._counting:
            self._counting = True
            self._open_window()

    def _open_window(self) -> None:
        now = self._loop.time()
        if self._pending_writes() >= CONTENDED_WRITES:
            self._contended_until = now + CONTENDED_SECONDS
        if now < self._contended_until:
            self._most = CONTENDED_STARTS + self._extra_starts(now)
            self._loop.call_later(CONTENDED_PAUSE, self._close_window)
        else:
            self._most = MAX_STARTS
            self._loop.call_soon(self._close_window)

    def _extra_starts(self, now: float) -> int:
        """How many more starts there is time for, by how busy this thread was lately."""
        passed, self._counted_at = now - self._counted_at, now
        before, self._busy = self._busy, self._busy_time()
        busy = self._busy - before
        idle = 1 - busy / passed if passed > 0 else 0.0
        return min(
            round(max(idle - IDLE, 0.0) * CONTENDED_PAUSE / COST), MAX_STARTS - CONTENDED_STARTS
        )

    def _close_window(self) -> None:
        full, self._counting, self._started = self.exhausted, False, 0
        if full:
            self._resume()
