"""The retry timer: when each lane has its next delivery due in the store."""

import asyncio
import heapq
import itertools
from collections.abc import Callable

from store.clock import SECOND, Clock
from worker.delivery.lane import Lane

# Seconds after which the clock is read again at the latest: it may have been set.
LONGEST_SLEEP = 60.0


class RetryTimer:
    """One entry a lane, however many deliveries wait. `on_due` is called when one may be due."""

    def __init__(self, clock: Clock, on_due: Callable[[], None]) -> None:
        self._clock = clock
        self._on_due = on_due
        # The number decides between two lanes of the same time: lanes have no order.
        self._entries: list[tuple[int, int, Lane]] = []
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def schedule(self, lane: Lane, due_at: int) -> None:
        """Wake the lane at this time (microseconds), if it is not woken earlier."""
        if lane.next_due is None or due_at < lane.next_due:
            lane.next_due = due_at
            heapq.heappush(self._entries, (due_at, next(self._numbers), lane))
            if self._entries[0][2] is lane:
                self._set_timer()

    def pop_due(self) -> list[Lane]:
        """The lanes whose time has come. Their entries are removed."""
        now = self._clock.now()
        found = []
        while self._entries and self._entries[0][0] <= now:
            due_at, _, lane = heapq.heappop(self._entries)
            # An entry that an earlier one overtook is void: the claim reports what is due next.
            if lane.next_due == due_at:
                lane.next_due = None
                found.append(lane)
        self._set_timer()
        return found

    @property
    def wakes_at(self) -> float | None:
        """When `on_due` is called next, in seconds of the event loop's clock."""
        return None if self._timer is None else self._timer.when()

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
        """Call `on_due` no more."""
        self._closed = True
        self._set_timer()
