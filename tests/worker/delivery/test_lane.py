"""A lane without a worker: its window, rate and circuit breaker, and the retry timer."""

import asyncio

import pytest
from waiting import until
from worker_harness import settle

from store.clock import SECOND, MovableClock
from worker.delivery.lane import FIRST_WINDOW, Lane, QueuedDelivery
from worker.delivery.policy import policy_for
from worker.delivery.retry_timer import LONGEST_SLEEP, SPARE, RetryTimer
from worker.delivery.target import Target
from worker.settings import WorkerSettings
from worker.tuning import DEFAULTS

FIRST_COOLDOWN, MAX_COOLDOWN = DEFAULTS.first_cooldown, DEFAULTS.max_cooldown


def lane(queued: int = 0, **options: object) -> Lane:
    target = Target(
        version=1, repo_id=1, url="", active=True, deleted=False, paused=False, content_type="json",
        verify_tls=True, policy=policy_for(WorkerSettings(), options), endpoint=None, refusal="",
        secret=None, prefixes=(), static_head="",
    )  # fmt: skip
    made = Lane(7, target)
    made.queue.extend(QueuedDelivery(number, 1, 0, 0, 1) for number in range(queued))
    return made


def started(lane: Lane) -> int:
    """Start all requests that the lane allows now. Return their number."""
    count = 0
    while lane.can_start():
        lane.in_flight += 1
        count += 1
    return count


def test_an_empty_lane_starts_nothing() -> None:
    assert not lane().can_start()


def test_a_new_endpoint_gets_few_at_once() -> None:
    assert started(lane(100)) == FIRST_WINDOW


def test_each_success_widens_the_window_up_to_the_concurrency() -> None:
    busy = lane(1000, concurrency=32)
    windows = []
    for _ in range(40):
        busy.record_success()
        windows.append(busy.window)
    assert windows[:3] == [FIRST_WINDOW + 1, FIRST_WINDOW + 2, FIRST_WINDOW + 3]
    assert windows[-1] == 32
    assert started(busy) == 32


def test_each_failure_halves_the_window() -> None:
    failing = lane(1000, breaker=0)
    failing.window = 32
    windows = []
    for _ in range(7):
        failing.record_failure(0.0)
        windows.append(failing.window)
    assert windows == [16, 8, 4, 2, 1, 1, 1]


def test_the_concurrency_of_the_hook_is_never_exceeded() -> None:
    assert started(lane(100, concurrency=1)) == 1
    assert started(lane(100, concurrency=3)) == 3


def test_until_its_hook_is_known_it_starts_one() -> None:
    unknown = lane(100)
    unknown.target = None
    assert started(unknown) == 1


def test_the_rate_spaces_requests() -> None:
    slow = lane(10, rate=4)
    starts = []
    now = 100.0
    for _ in range(4):
        now += max(slow.wait(now), 0.0)
        slow.count_request(now)
        starts.append(now)
    assert starts == [100.0, 100.25, 100.5, 100.75]
    assert slow.wait(200.0) < 0
    slow.count_request(200.0)
    assert slow.wait(200.0) == 0.25, "unused requests are not saved up"


def test_without_a_rate_nothing_is_spent() -> None:
    fast = lane(10)
    fast.count_request(5.0)
    assert fast.wait(5.0) <= 0


def test_the_breaker_opens_after_its_number_of_failures() -> None:
    failing = lane(breaker=3)
    assert [failing.record_failure(10.0) for _ in range(3)] == [0.0, 0.0, FIRST_COOLDOWN]
    assert failing.full
    assert failing.wait(10.0) == FIRST_COOLDOWN


def test_a_success_starts_the_count_anew() -> None:
    flaky = lane(breaker=3)
    for _ in range(10):
        assert flaky.record_failure(0.0) == 0.0
        assert flaky.record_failure(0.0) == 0.0
        flaky.record_success()


def test_breaker_0_never_opens() -> None:
    failing = lane(breaker=0)
    assert not any(failing.record_failure(0.0) for _ in range(100))


def test_each_failed_probe_doubles_the_cooldown() -> None:
    failing = lane(breaker=1)
    rests = []
    now = 0.0
    for _ in range(9):
        rests.append(failing.record_failure(now))
        now += rests[-1]
        failing.end_cooldown(now)
    assert rests == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, MAX_COOLDOWN, MAX_COOLDOWN, MAX_COOLDOWN]


def test_failures_of_attempts_in_flight_lengthen_no_cooldown() -> None:
    failing = lane(breaker=3)
    rests = [failing.record_failure(0.0) for _ in range(32)]
    assert [rest for rest in rests if rest] == [FIRST_COOLDOWN]
    failing.end_cooldown(FIRST_COOLDOWN)
    assert failing.record_failure(FIRST_COOLDOWN) == 2 * FIRST_COOLDOWN


def test_after_the_rest_one_request_probes() -> None:
    failing = lane(10, breaker=1)
    failing.window = 32
    failing.record_failure(0.0)
    failing.end_cooldown(FIRST_COOLDOWN - 0.1)
    assert failing.full
    failing.end_cooldown(FIRST_COOLDOWN)
    assert not failing.full
    assert failing.wait(FIRST_COOLDOWN) <= 0
    assert started(failing) == 1


def test_a_target_with_a_confirmed_version_is_used_again() -> None:
    one = lane()
    one.invalidate()
    one.confirm(2, one.invalidations)
    assert one.stale, "the version differs"
    before = one.invalidations
    one.invalidate()
    one.confirm(1, before)
    assert one.stale, "the target was invalidated after it was read"
    one.confirm(1, one.invalidations)
    assert not one.stale
    one.forget_target()
    one.confirm(1, one.invalidations)
    assert one.stale, "there is no target"


def test_full_is_a_queue_at_its_bound() -> None:
    assert not lane(DEFAULTS.max_queue - 1).full
    assert lane(DEFAULTS.max_queue).full


def test_a_lane_is_idle_only_if_nothing_would_be_lost() -> None:
    assert lane().idle
    assert not lane(1).idle
    for name, value in (
        ("in_flight", 1), ("backlog", True), ("timer", object()), ("waiting", True),
        ("held_until", 5),
        ("next_due", 5), ("claiming", True),
    ):  # fmt: skip
        busy = lane()
        setattr(busy, name, value)
        assert not busy.idle, name


# The retry timer.


class Bell:
    """A retry timer on a movable clock, and the number of its calls, `rings`."""

    def __init__(self) -> None:
        self.clock = MovableClock(1_000 * SECOND)
        self.rings = 0
        self.timer = RetryTimer(self.clock, self.ring)

    def ring(self) -> None:
        self.rings += 1

    def at(self, seconds: float) -> int:
        return self.clock.now() + round(seconds * SECOND)

    def sleeps(self, seconds: float) -> bool:
        """Return whether the timer wakes this many seconds after the last `enter`."""
        wakes_at, now = self.timer.wakes_at, asyncio.get_running_loop().time()
        return wakes_at is not None and self.begun + seconds <= wakes_at <= now + seconds

    def enter(self, lane: Lane, seconds: float) -> None:
        self.begun = asyncio.get_running_loop().time()
        self.timer.schedule(lane, self.at(seconds))


@pytest.fixture
async def bell(anyio_backend: str) -> Bell:
    return Bell()


async def test_a_lane_is_due_at_its_moment(bell: Bell) -> None:
    one = Lane(1)
    bell.timer.schedule(one, bell.at(5))
    assert bell.timer.pop_due() == []
    bell.clock.advance(5)
    assert bell.timer.pop_due() == [one]
    assert one.next_due is None
    assert bell.timer.pop_due() == []


async def test_the_earliest_entry_of_a_lane_counts(bell: Bell) -> None:
    one = Lane(1)
    for seconds in (9, 5, 7):
        bell.timer.schedule(one, bell.at(seconds))
    bell.clock.advance(6)
    assert bell.timer.pop_due() == [one]
    bell.clock.advance(6)
    assert bell.timer.pop_due() == [], "replaced entries are skipped"


async def test_short_retries_beside_a_long_one_leave_few_entries(bell: Bell) -> None:
    one, other = Lane(1), Lane(2)
    far = bell.at(86_400)
    bell.timer.schedule(other, far)
    for _ in range(1000):
        bell.timer.schedule(one, far)
        bell.timer.schedule(one, bell.at(1))
        bell.clock.advance(1)
        assert bell.timer.pop_due() == [one]
    bell.timer.schedule(one, far)
    assert bell.timer.size <= 2 * 2 + SPARE
    bell.clock.advance(86_400)
    assert bell.timer.pop_due() == [other, one]
    assert bell.timer.pop_due() == []


async def test_lanes_come_in_the_order_of_their_moments(bell: Bell) -> None:
    lanes = [Lane(number) for number in range(5)]
    for lane, seconds in zip(lanes, (5, 1, 4, 2, 3), strict=True):
        bell.timer.schedule(lane, bell.at(seconds))
    bell.clock.advance(10)
    assert [lane.hook_id for lane in bell.timer.pop_due()] == [1, 3, 4, 2, 0]


async def test_two_lanes_of_one_hook_at_one_moment(bell: Bell) -> None:
    # The first lane was removed, but the timer still has its entry. The second is of the same hook.
    first, second = Lane(1), Lane(1, in_flight=1)
    bell.timer.schedule(first, bell.at(5))
    first.next_due = None
    bell.timer.schedule(second, bell.at(5))
    bell.timer.schedule(Lane(2), bell.at(5))
    bell.clock.advance(5)
    assert [lane.hook_id for lane in bell.timer.pop_due()] == [1, 2]


async def test_the_timer_sleeps_until_the_first_lane_is_due(bell: Bell) -> None:
    bell.enter(Lane(1), 3600)
    assert bell.sleeps(LONGEST_SLEEP)
    bell.enter(Lane(2), 30)
    assert bell.sleeps(30)
    bell.timer.schedule(Lane(3), bell.at(40))
    assert bell.sleeps(30)


async def test_the_timer_rings_for_an_overdue_lane(bell: Bell) -> None:
    bell.timer.schedule(Lane(1), bell.at(-5))
    await until(lambda: bell.rings == 1)


async def test_closed_it_rings_no_more(bell: Bell) -> None:
    bell.timer.schedule(Lane(1), bell.at(-5))
    bell.timer.close()
    bell.timer.schedule(Lane(2), bell.at(-5))
    await settle()
    assert bell.rings == 0


def test_failures_of_one_key_in_a_row_are_one_failure() -> None:
    failing = lane(10, breaker=3)
    for _ in range(10):
        assert not failing.record_failure(0.0, "a")
    assert (failing.failures, failing.window) == (1, FIRST_WINDOW // 2)
    assert not failing.record_failure(0.0, "b")
    assert failing.record_failure(0.0, "a") == FIRST_COOLDOWN, "several keys fail without a success"


def test_a_key_that_fails_as_a_probe_opens_the_circuit_again() -> None:
    failing = lane(10, breaker=1)
    assert failing.record_failure(0.0, "a") == FIRST_COOLDOWN
    failing.end_cooldown(FIRST_COOLDOWN)
    assert failing.record_failure(FIRST_COOLDOWN, "a") == 2 * FIRST_COOLDOWN
