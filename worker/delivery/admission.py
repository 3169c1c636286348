"""Admission: may this delivery start now, and if not, what wakes it.

Three limits decide, each with its own wake-up:

- the hook's own (`Lane`): window, rate and cooldown. The end of one of its requests, or a timer;
- all requests in flight (`FairSemaphore`), shared by machines and hosts. The end of any request;
- starts in one pass of the event loop (`StartThrottle`). The next pass.

While `blocked` says so nothing starts: its outcome could not be recorded under the lease. Whoever
ends that calls `wake`.
"""

import asyncio
from collections.abc import Callable
from functools import cached_property

from worker.delivery.concurrency import UNKNOWN_HOST, FairSemaphore, Permit
from worker.delivery.lane import Lane
from worker.delivery.start_throttle import StartThrottle
from worker.settings import WorkerSettings
from worker.tuning import DEFAULTS, Tuning


class Admission:
    """Gives permits. `start` is called with a lane whose turn it is, `rested` with a lane whose
    timer has ended. `pending_writes` says how many callers wait for the store to write.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        blocked: Callable[[], bool],
        pending_writes: Callable[[], int],
        start: Callable[[Lane], None],
        rested: Callable[[Lane], None],
        tuning: Tuning = DEFAULTS,
    ) -> None:
        self._semaphore = FairSemaphore(settings.max_in_flight, settings.max_in_flight_per_host)
        self._throttle = StartThrottle(pending_writes, self.wake)
        self.blocked = blocked
        self._start = start
        self._on_rested = rested
        self._quantum = tuning.quantum
        self.closed = False
        """Nothing starts any more."""

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        # Kept: to ask for it is a system call in Python 3.11, and there are many a delivery.
        return asyncio.get_running_loop()

    @property
    def in_flight(self) -> int:
        """How many requests are in flight."""
        return self._semaphore.in_flight

    @property
    def waiting(self) -> int:
        """How many lanes wait for the shared limits."""
        return self._semaphore.waiting

    @property
    def waiting_since(self) -> float | None:
        """Since when a lane waits although its host has room."""
        return self._semaphore.waiting_since()

    @property
    def held(self) -> int:
        """How many lanes wait because their machine is at its limit."""
        return self._semaphore.held

    def change(self, settings: WorkerSettings) -> None:
        """Apply these limits from now on."""
        self._semaphore.change(settings.max_in_flight, settings.max_in_flight_per_host)
        self.wake()

    def admit(self, lane: Lane, *, others_first: bool) -> Permit | None:
        """A permit for the lane's next delivery. None if it may not start now.

        If `others_first`, lanes that wait for a permit of the same machine go before.
        """
        if self.closed or not lane.can_start():
            return None
        now = self._loop.time()
        if (others_first and self._semaphore.is_contended(lane.machine)) or not self._room(lane):
            self._semaphore.enqueue(lane, now)
            return None
        wait = lane.wait(now)
        if wait > 0:
            self.wake_after(lane, wait)
            return None
        lane.count_request(now)
        lane.in_flight += 1
        return self._semaphore.acquire(lane.host, lane.machine)

    def _room(self, lane: Lane) -> bool:
        return not self._is_paused() and self._semaphore.can_acquire(lane.host, lane.machine)

    def _is_paused(self) -> bool:
        return self._throttle.exhausted or self.blocked()

    def count_start(self) -> None:
        """Count a delivery that starts now, with a new permit or one that its lane keeps."""
        self._throttle.count()

    def begin_quantum(self, permit: Permit) -> None:
        """From now on the lane may keep this permit for a while."""
        permit.until = self._loop.time() + self._quantum

    def should_yield(self, lane: Lane, permit: Permit) -> bool:
        """Whether the lane has to release its permit before its next delivery."""
        if self.closed or self._is_paused() or lane.cooldown_until:
            return True
        if self._semaphore.any_could_start():
            return True
        if self._semaphore.has_waiting(lane.machine) and self._loop.time() >= permit.until:
            return True
        return lane.in_flight > lane.limit or lane.rate is not None

    def assign_host(self, lane: Lane, permit: Permit) -> bool:
        """Count the request for the lane's host if that was unknown until now. False if the host is
        at its limit.
        """
        if permit.host != UNKNOWN_HOST or lane.host == UNKNOWN_HOST:
            return True
        return self._semaphore.assign_host(permit, lane.host, lane.machine)

    def may_reach(self, lane: Lane, permit: Permit, address: str) -> bool:
        """Count the request for the machine that it is about to be sent to. False if that is at its
        limit: the lane then waits for that machine.
        """
        lane.machine = address
        return self._semaphore.assign_machine(permit, address)

    def update_limits(self, lane: Lane, *, delivered: bool) -> float:
        """Adjust the lane's limits to an outcome. Returns the seconds of the cooldown if one
        begins, else 0.
        """
        if delivered:
            lane.record_success()
            return 0.0
        cooldown = lane.record_failure(self._loop.time())
        if cooldown:
            self.wake_after(lane, cooldown)
        return cooldown

    def release(self, lane: Lane, permit: Permit) -> None:
        """Count the request as ended. The caller then calls `wake`."""
        lane.in_flight -= 1
        self._semaphore.release(permit)

    def wake(self) -> None:
        """Start the lanes whose turn it is at the shared limits."""
        while not self._is_paused() and (lane := self._semaphore.dequeue()) is not None:
            self._start(lane)

    def wake_after(self, lane: Lane, seconds: float) -> None:
        """Start the lane after so many seconds."""
        if not lane.has_timer:
            lane.has_timer = True
            self._loop.call_later(seconds, self._on_timer, lane)

    def _on_timer(self, lane: Lane) -> None:
        lane.has_timer = False
        now = self._loop.time()
        lane.end_cooldown(now)
        if lane.cooldown_until:
            # The timer was for the rate, and none was set for the cooldown.
            self.wake_after(lane, lane.cooldown_until - now)
        else:
            self._on_rested(lane)
