"""The agenda: when each lane next has something due in the store."""

import asyncio
import heapq
import itertools
from collections.abc import Callable

from store.clock import SECOND, Clock
from worker.delivery.lane import Lane

# Looked at again at least so often, for the clock may have been set.
LONGEST_SLEEP = 60.0


class RetryTimer:
    """One entry a lane, however much waits behind it; `rang` is called when one may be due."""

    def __init__(self, clock: Clock, rang: Callable[[], None]) -> None:
        self._clock = clock
        self._on_due = rang
        # The number decides between two of one moment: lanes have no order.
        self._entries: list[tuple[int, int, Lane]] = []
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def enter(self, lane: Lane, due_at: int) -> None:
        """Note that a lane has something due at this moment (microseconds)."""
        if lane.next_due is None or due_at < lane.next_due:
            lane.next_due = due_at
            heapq.heappush(self._entries, (due_at, next(self._numbers), lane))
            if self._entries[0][2] is lane:
                self._set_timer()

    def due(self) -> list[Lane]:
        """The lanes whose moment has come, taken off the agenda."""
        now = self._clock.now()
        found = []
        while self._entries and self._entries[0][0] <= now:
            due_at, _, lane = heapq.heappop(self._entries)
            # An entry that an earlier one overtook is void: the claim tells what comes next.
            if lane.next_due == due_at:
                lane.next_due = None
                found.append(lane)
        self._set_timer()
        return found

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._entries and not self._closed:
            seconds = (self._entries[0][0] - self._clock.now()) / SECOND
            self._timer = asyncio.get_running_loop().call_later(
                min(max(seconds, 0.0), LONGEST_SLEEP), self._on_due
            )

    def close(self) -> None:
        """Ring no more."""
        self._closed = True
        self._set_timer()
