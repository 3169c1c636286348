"""Admission: whether a delivery may start now and, if not, what wakes it.

Three limits decide. Each has its own wake-up:
- The hook's own limits (`Lane`) are its window, rate and cooldown. The end of one of its requests
  wakes it, or a timer.
- The limits that all hooks share (`FairSemaphore`) are for the requests in flight: of all, of a
  machine and of a host. The end of any request wakes a hook that waits.
- The limit of starts in one pass of the event loop (`StartThrottle`). The next pass wakes it.

While `blocked` returns True, nothing starts: the outcomes could not be recorded, or the lease may
have ended. The code that ends this state calls `wake`.
"""

from collections.abc import Callable
from time import thread_time

from worker.delivery.concurrency import UNKNOWN_HOST, FairSemaphore, Permit
from worker.delivery.lane import Lane
from worker.loop_bound import LoopBound
from worker.settings import WorkerSettings
from worker.tuning import DEFAULTS, Tuning

# The limit of starts in one pass of the event loop. A request and its outcome take about 70
# microseconds of this thread.
MAX_STARTS = 128
# If this many callers wait for writes, deliveries get only a part of the time: CONTENDED_STARTS
# starts in CONTENDED_PAUSE seconds.
CONTENDED_WRITES = 4
CONTENDED_STARTS, CONTENDED_PAUSE = 6, 0.005
# If the loop was idle for more than this share of the time, the callers wait for the disk. Then
# more deliveries start. Each is assumed to take COST seconds.
IDLE, COST = 0.4, 70e-6
# Seconds for which callers are assumed to wait after they were seen waiting.
CONTENDED_SECONDS = 0.03


class Admission(LoopBound):
    """The limits under which lanes get permits.

    `start` is called with a lane whose turn it is. `rested` is called with a lane whose timer has
    ended. `time_to_fill` returns how long a lane waits until it sends its next batch.
    `pending_writes` returns how many callers wait for the store to write.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        blocked: Callable[[], bool],
        pending_writes: Callable[[], int],
        start: Callable[[Lane], None],
        rested: Callable[[Lane], None],
        time_to_fill: Callable[[Lane], float],
        tuning: Tuning = DEFAULTS,
    ) -> None:
        self.semaphore = FairSemaphore(settings.max_in_flight, settings.max_in_flight_per_host)
        self._throttle = StartThrottle(pending_writes, self.wake)
        self.blocked = blocked
        self._start = start
        self._on_rested = rested
        self._time_to_fill = time_to_fill
        self._quantum = tuning.quantum
        self.closed = False
        """Whether starting has ended for good."""

    def change(self, settings: WorkerSettings) -> None:
        """Apply these limits from now on."""
        self.semaphore.change(settings.max_in_flight, settings.max_in_flight_per_host)
        self.wake()

    def admit(self, lane: Lane, others_first: bool) -> Permit | None:
        """Return a permit for the lane's next delivery. Return None if it may not start now.

        If `others_first`, lanes that wait for a permit of the same machine go first.
        """
        if self.closed or not lane.can_start():
            return None
        now = self._loop.time()
        contended = others_first and self.semaphore.is_contended(lane.machine)
        if (
            contended
            or self._is_paused()
            or not self.semaphore.can_acquire(lane.host, lane.machine)
        ):
            self.semaphore.enqueue(lane, now)
            return None
        wait = lane.wait(now)
        if lane.batch is not None:
            wait = max(wait, self._time_to_fill(lane))
        if wait > 0:
            self.wake_after(lane, wait)
            return None
        lane.count_request(now)
        lane.in_flight += 1
        # The lane may keep the permit for a while.
        return self.semaphore.acquire(lane.host, lane.machine, now + self._quantum)

    def _is_paused(self) -> bool:
        return self._throttle.exhausted or self.blocked()

    def count_start(self) -> None:
        """Count a delivery that starts now, with a new permit or with one that its lane keeps."""
        self._throttle.count()

    def should_yield(self, lane: Lane, permit: Permit) -> bool:
        """Return whether the lane has to release its permit before its next delivery."""
        if self.closed or lane.cooldown_until or lane.held_until:
            return True
        if self.semaphore.any_could_start() or self._is_paused():
            return True
        if self.semaphore.has_waiting(lane.machine) and self._loop.time() >= permit.until:
            return True
        return lane.in_flight > lane.limit or lane.is_paced

    def assign_host(self, lane: Lane, permit: Permit) -> bool:
        """Count the request for the lane's host, if the host was unknown until now.

        Return False if the host is at its limit.
        """
        if permit.host != UNKNOWN_HOST or lane.host == UNKNOWN_HOST:
            return True
        return self.semaphore.assign_host(permit, lane.host, lane.machine)

    def may_reach(self, lane: Lane, permit: Permit, address: str) -> bool:
        """Count the request for the machine that it is about to be sent to.

        Return False if the machine is at its limit. The lane then waits for that machine.
        """
        lane.machine = address
        return self.semaphore.assign_machine(permit, address)

    def update_limits(self, lane: Lane, *, delivered: bool, key: str | None = None) -> float:
        """Adjust the lane's limits to an outcome. `key` is the key of an ordered delivery.

        Return the seconds of the cooldown if one begins, else 0.
        """
        if delivered:
            lane.record_success()
            return 0.0
        cooldown = lane.record_failure(self._loop.time(), key)
        if cooldown:
            self.wake_after(lane, cooldown)
        return cooldown

    def release(self, lane: Lane, permit: Permit) -> None:
        """Count the request as ended. The caller then calls `wake`."""
        lane.in_flight -= 1
        self.semaphore.release(permit)

    def wake(self) -> None:
        """Start the lanes whose turn it is under the shared limits."""
        while (lane := self.semaphore.dequeue(self._is_paused)) is not None:
            self._start(lane)

    def wake_after(self, lane: Lane, seconds: float) -> None:
        """Start the lane after this many seconds, unless a timer is set that ends earlier."""
        when = self._loop.time() + seconds
        if lane.timer is not None:
            if lane.timer.when() <= when:
                return
            # It was for a rest that a change of the hook has ended.
            lane.timer.cancel()
        lane.timer = self._loop.call_at(when, self._on_timer, lane)

    def _on_timer(self, lane: Lane) -> None:
        lane.timer = None
        now = self._loop.time()
        lane.end_cooldown(now)
        if lane.cooldown_until:
            # The timer was for the rate, and kept `wake_after` from setting one for the cooldown.
            self.wake_after(lane, lane.cooldown_until - now)
        else:
            self._on_rested(lane)


class StartThrottle(LoopBound):
    """The limit of how many deliveries start in one pass of the event loop.

    `pending_writes` returns how many callers wait for the store. `resume` is called when more may
    start. `busy_time` returns the seconds that this thread has worked.
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
        self.exhausted = False
        """Whether nothing more may start in this pass."""

    def count(self) -> None:
        """Count one start."""
        self._started += 1
        if not self._counting:
            self._counting = True
            self._open_window()
        self.exhausted = self._started >= self._most

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
        """Return how many more starts there is time for, judged by how busy this thread was
        lately.
        """
        passed, self._counted_at = now - self._counted_at, now
        before, self._busy = self._busy, self._busy_time()
        busy = self._busy - before
        idle = 1 - busy / passed if passed > 0 else 0.0
        return min(
            round(max(idle - IDLE, 0.0) * CONTENDED_PAUSE / COST), MAX_STARTS - CONTENDED_STARTS
        )

    def _close_window(self) -> None:
        full, self._counting, self._started = self.exhausted, False, 0
        self.exhausted = False
        if full:
            self._resume()
