"""The retry timer: it knows when each lane's next delivery in the store is due."""

import asyncio
import heapq
import itertools
from collections.abc import Callable

from store.clock import SECOND, Clock
from worker.delivery.lane import Lane

# Seconds after which the clock is read again at the latest, because it may have been set.
LONGEST_SLEEP = 60.0
# Void entries that may stay, beside as many as there are lanes.
SPARE = 16


class RetryTimer:
    """The timer that calls `on_due` when a lane's delivery may be due.

    It has one valid entry per lane, however many deliveries wait, and hardly more void ones.
    """

    def __init__(self, clock: Clock, on_due: Callable[[], None]) -> None:
        self._clock = clock
        self._on_due = on_due
        # The number decides between two lanes with the same time, because lanes cannot be compared.
        self._entries: list[tuple[int, int, Lane]] = []
        self._numbers = itertools.count()
        self._lanes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def schedule(self, lane: Lane, due_at: int) -> None:
        """Wake the lane at this time (microseconds), unless it is woken earlier."""
        if lane.next_due is None or due_at < lane.next_due:
            self._lanes += lane.next_due is None
            lane.next_due = due_at
            heapq.heappush(self._entries, (due_at, next(self._numbers), lane))
            if len(self._entries) > 2 * self._lanes + SPARE:
                self._remove_void()
            if self._entries[0][2] is lane:
                self._set_timer()

    def pop_due(self) -> list[Lane]:
        """Remove and return the lanes whose time has come."""
        now = self._clock.now()
        found = []
        while self._entries and self._entries[0][0] <= now:
            due_at, _, lane = heapq.heappop(self._entries)
            # An entry that an earlier one replaced is void: the claim reports what is due next.
            if lane.next_due == due_at:
                lane.next_due = None
                self._lanes -= 1
                found.append(lane)
        self._set_timer()
        return found

    def _remove_void(self) -> None:
        """Keep one valid entry of each lane. An earlier entry of the lane made the others void."""
        valid = {
            id(lane): (due_at, number, lane)
            for due_at, number, lane in self._entries
            if lane.next_due == due_at
        }
        self._entries = [*valid.values()]
        heapq.heapify(self._entries)
        self._lanes = len(self._entries)

    @property
    def size(self) -> int:
        """Return how many entries it has, with the void ones."""
        return len(self._entries)

    @property
    def wakes_at(self) -> float | None:
        """Return when `on_due` is called next, in seconds of the event loop's clock, or None."""
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
        """Stop calling `on_due`."""
        self._closed = True
        self._set_timer()
