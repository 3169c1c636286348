"""A failing or slow endpoint delays no other: windows, rates, breakers, the common limit."""

import asyncio
import logging
import re
from collections import Counter
from dataclasses import replace

import pytest
from clock_helpers import hasten
from receivers import OK, Call, serving
from waiting import until
from worker_harness import PROMPT, Gate, Post, WorkerHarness, said, settle

from store.clock import SECOND
from store.delivery import events
from store.hook_state import hook_pauses
from worker.delivery import target_cache
from worker.delivery.lane import FIRST_WINDOW, Lane
from worker.http.answer import ExchangeResult
from worker.tuning import DEFAULTS, Tuning

FIRST_COOLDOWN = DEFAULTS.first_cooldown
# A rest that does not end by itself during a test.
LASTING = replace(PROMPT, first_cooldown=10_000.0, max_cooldown=20_000.0)


async def quick(post: Post) -> ExchangeResult:
    """Answer after a moment, so that requests overlap."""
    await asyncio.sleep(0.001)
    return said()


def failing(post: Post) -> ExchangeResult:
    return said(500)


# A hanging endpoint.


async def test_while_one_hangs_all_the_others_are_delivered(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    hanging, *healthy = (harness.hook() for _ in range(4))
    await harness.work()
    await harness.events(50)
    for hook_id in healthy:
        await until(lambda hook_id=hook_id: harness.states(hook_id) == {"delivered": 50})
    assert harness.states(hanging) == {"waiting": 50}
    assert harness.network.most["h1.example"] == FIRST_WINDOW
    gate.opened.set()
    await harness.over(delivered=200)


async def test_one_that_begins_to_hang_holds_its_window_at_most(harness: WorkerHarness) -> None:
    hook_id = harness.hook()
    await harness.work()
    await harness.events(5)
    await harness.over(delivered=5)
    gate = harness.network.script = Gate(["h1.example"])
    await harness.events(60)
    await until(lambda: harness.network.in_flight["h1.example"] == FIRST_WINDOW + 5)
    await settle()
    assert harness.network.in_flight["h1.example"] == FIRST_WINDOW + 5
    gate.opened.set()
    await until(lambda: harness.states(hook_id) == {"delivered": 65})


async def test_the_backlog_of_a_hanging_hook_delays_no_other(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    hanging = harness.hook()
    backlog = [harness.arrival() for _ in range(5000)]
    harness.store.write_sync(events.accept_all, backlog)
    healthy = harness.hook(events=["issues"])
    worker = await harness.work()
    await until(lambda: harness.network.in_flight["h1.example"] == FIRST_WINDOW)
    for _ in range(3):
        await harness.event(name="issues")
    await until(lambda: harness.states(healthy) == {"delivered": 3})
    assert harness.states(hanging) == {"waiting": 5000}
    assert len(harness.leased()) <= DEFAULTS.max_queue + FIRST_WINDOW, (
        "most of the backlog stays in the store"
    )
    gate.opened.set()
    await harness.over(delivered=5003)
    assert worker.dispatcher.in_flight == 0
    assert worker.dispatcher.queued == 0


async def test_hanging_hooks_that_fill_memory_leave_room_for_the_others(
    harness: WorkerHarness,
) -> None:
    harness.tuning = Tuning(max_buffered=50)
    gate = harness.network.script = Gate([f"h{n}.example" for n in range(1, 6)])
    for _ in range(5):
        harness.hook()
    healthy = harness.hook(events=["issues"])
    worker = await harness.work()
    await harness.events(20)
    await until(lambda: worker.dispatcher.queued > 50)
    for _ in range(40):
        await harness.event(name="issues")
    await until(lambda: harness.states(healthy) == {"delivered": 40})
    gate.opened.set()
    await harness.over(delivered=140)


# The number of requests in flight.


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_the_concurrency_of_a_hook_is_kept(harness: WorkerHarness, concurrency: int) -> None:
    harness.network.script = quick
    harness.hook(options={"concurrency": concurrency})
    await harness.work()
    await harness.events(60)
    await harness.over(delivered=60)
    assert harness.network.most["h1.example"] == concurrency


async def test_the_concurrency_as_the_receiver_sees_it(harness: WorkerHarness) -> None:
    open_now = most = 0
    together = asyncio.Event()

    async def counting(call: Call) -> None:
        nonlocal open_now, most
        while True:
            await call.request()
            open_now += 1
            most = max(most, open_now)
            if open_now == 6:
                together.set()
            if len(call.receiver.heads) > 6 - FIRST_WINDOW:
                # The window reaches 6 only after successes, so the first requests do not wait.
                await together.wait()
            await asyncio.sleep(0.002)
            open_now -= 1
            await call.say(OK)

    async with serving(counting) as receiver:
        harness.hook(receiver.url, options={"concurrency": 6})
        await harness.work(real=True)
        await harness.events(100)
        await harness.over(delivered=100)
        await harness.rest()
    assert most == 6
    assert receiver.connections == 6, "connections are used again"


async def test_the_window_grows_while_the_queue_lasts(harness: WorkerHarness) -> None:
    harness.network.script = quick
    harness.hook()
    await harness.work()
    await harness.events(250)
    await harness.over(delivered=250)
    assert harness.network.most["h1.example"] == 32


async def test_the_window_shrinks_when_it_fails(harness: WorkerHarness) -> None:
    harness.network.script = quick
    harness.hook(options={"breaker": 0})
    await harness.work()
    await harness.events(100)
    await harness.over(delivered=100)
    harness.network.script = failing
    await harness.events(40)
    await until(lambda: len(harness.network.posts) == 140)
    harness.network.most.clear()
    await harness.events(20)
    await until(lambda: len(harness.network.posts) == 160)
    assert harness.network.most["h1.example"] == 1


async def test_a_concurrency_that_is_lowered_holds_from_the_next_event(
    harness: WorkerHarness,
) -> None:
    harness.network.script = quick
    hook_id = harness.hook()
    await harness.work()
    await harness.events(100)
    await harness.over(delivered=100)
    harness.edit(hook_id, options={"concurrency": 2})
    await harness.event()
    await harness.over(delivered=101)
    harness.network.most.clear()
    await harness.events(50)
    await harness.over(delivered=151)
    assert harness.network.most["h1.example"] == 2


async def test_a_request_is_not_made_twice_by_requests_that_end_together(
    harness: WorkerHarness,
) -> None:
    harness.network.script = quick
    for _ in range(10):
        harness.hook()
    await harness.work()
    for _ in range(5):
        await harness.events(20)
    await harness.over(delivered=1000)
    sent = Counter((post.host, post.guid) for post in harness.network.posts)
    assert set(sent.values()) == {1}


# The rate.


async def test_the_rate_of_a_hook_is_kept(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    begun: list[float] = []
    spend = Lane.count_request

    def spending(lane: Lane, now: float) -> None:
        if lane.rate is not None:
            # The rate decides when a request is started. A busy machine may send it later.
            begun.append(now)
        spend(lane, now)

    times: list[float] = []

    def timed(post: Post) -> ExchangeResult:
        times.append(loop.time())
        return said()

    monkeypatch.setattr(Lane, "count_request", spending)
    harness.network.script = timed
    harness.hook(options={"rate": 50})
    await harness.work()
    await harness.events(11)
    await harness.over(delivered=11)
    assert len(begun) == len(times)
    assert all(before <= sent for before, sent in zip(begun, times, strict=True))
    assert begun[-1] - begun[0] >= 10 / 50 * 0.99
    assert begun[3] - begun[0] >= 3 / 50 * 0.99, "the first requests are not sent as a burst"


async def test_the_rate_holds_for_one_that_was_fast_before(harness: WorkerHarness) -> None:
    harness.network.script = quick
    hook_id = harness.hook()
    await harness.work()
    await harness.events(100)
    await harness.over(delivered=100)
    harness.edit(hook_id, options={"rate": 40})
    await harness.event()
    await harness.over(delivered=101)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await harness.events(8)
    await harness.over(delivered=109)
    assert loop.time() - began >= 7 / 40 * 0.9


async def test_a_rate_costs_the_others_nothing(harness: WorkerHarness) -> None:
    slow = harness.hook(options={"rate": 0.01})
    fast = harness.hook()
    await harness.work()
    await harness.events(30)
    await until(lambda: harness.states(fast) == {"delivered": 30})
    await until(lambda: harness.states(slow) == {"delivered": 1, "waiting": 29})


# The breaker.


async def test_the_breaker_opens_gives_back_probes_and_closes(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    harness.network.script = failing
    hook_id = harness.hook(options={"breaker": 3, "concurrency": 1})
    worker = await harness.work()
    await harness.events(20)
    await until(lambda: len(harness.network.posts) == 3)
    await until(lambda: not harness.leased())
    assert hook_id in worker.dispatcher.local.full()
    assert "rests for" in caplog.text
    assert resting_until(harness, hook_id) is not None
    hasten(FIRST_COOLDOWN)
    await until(lambda: len(harness.network.posts) == 4)
    await until(lambda: not harness.leased())
    hasten(2 * FIRST_COOLDOWN)
    await until(lambda: len(harness.network.posts) == 5)
    await until(lambda: not harness.leased())
    assert harness.network.most["h1.example"] == 1
    harness.network.script = lambda post: said()
    hasten(4 * FIRST_COOLDOWN)
    await until(lambda: harness.states(hook_id)["delivered"] >= 15)
    assert hook_id not in worker.dispatcher.local.full()
    await harness.pass_time(5)
    await harness.over(delivered=20)
    assert resting_until(harness, hook_id) is None


async def test_a_hook_that_stays_dead_is_logged_once(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    harness.tuning = Tuning(first_cooldown=FIRST_COOLDOWN, max_cooldown=2 * FIRST_COOLDOWN)
    harness.network.script = failing
    harness.hook(options={"breaker": 1, "concurrency": 1})
    worker = await harness.work()
    await harness.events(5)
    for probes in range(1, 5):
        await until(lambda many=probes: len(harness.network.posts) == many)
        await until(lambda: not harness.leased())
        hasten(2 * FIRST_COOLDOWN)
    assert rests(caplog) == ["rests for 5 s", "rests for 10 s"]
    harness.network.script = lambda post: said()
    await until(lambda: harness.states()["delivered"] >= 1)
    assert not any(lane.reported for lane in worker.dispatcher.lanes), "it is news again"


async def test_a_dead_hook_that_asks_for_pauses_is_logged_once_for_each_kind(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    harness.tuning = Tuning(first_cooldown=FIRST_COOLDOWN, max_cooldown=FIRST_COOLDOWN)
    harness.network.script = lambda post: said(503, head=b"Retry-After: 60")
    harness.hook(options={"breaker": 1, "concurrency": 1})
    await harness.work()
    await harness.events(5)
    for probes in range(1, 5):
        await until(lambda many=probes: len(harness.network.posts) == many)
        await until(lambda: not harness.leased())
        hasten(FIRST_COOLDOWN)
        await harness.pass_time(60)
    assert rests(caplog) == ["rests for 5 s"]
    assert sum("is held back for 60 s" in one for one in caplog.messages) == 1


def rests(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The rests of hooks that the log warns of."""
    found = [
        re.search(r"rests for \d+ s", one.getMessage())
        for one in caplog.records
        if one.levelno == logging.WARNING
    ]
    return [one[0] for one in found if one is not None]


def resting_until(harness: WorkerHarness, hook_id: int) -> int | None:
    """The stored time (microseconds) until which the cooldown of the hook lasts, or None."""
    sql = "SELECT resting_until FROM hook WHERE id = :id"
    found: int | None = harness.store.read_sync(lambda db: db.value(sql, id=hook_id))
    return found


async def opened(harness: WorkerHarness) -> int:
    """Let the breaker of a new hook open twice, and stop the worker. Return the hook's id.

    Its rest lasts for 2 * FIRST_COOLDOWN seconds from the time of `harness.clock`.
    """
    hook_id = await resting(harness)
    await harness.rest()
    harness.network.posts.clear()
    return hook_id


async def resting(harness: WorkerHarness) -> int:
    """Let the breaker of a new hook open twice, as `opened`, but let the worker go on."""
    harness.network.script = failing
    hook_id = harness.hook(options={"breaker": 3, "concurrency": 1})
    await harness.work()
    await harness.events(20)
    await until(lambda: len(harness.network.posts) == 3)
    await until(lambda: not harness.leased())
    hasten(harness.tuning.first_cooldown)
    await until(lambda: len(harness.network.posts) == 4)
    await until(lambda: not harness.leased())
    return hook_id


async def test_an_open_breaker_stays_open_after_a_restart(harness: WorkerHarness) -> None:
    hook_id = await opened(harness)
    harness.clock.advance(1)
    worker = await harness.work()
    await until(lambda: hook_id in worker.dispatcher.local.full())
    await harness.events(5)
    await settle()
    await harness.all_returned()
    assert not harness.network.posts
    hasten(2 * FIRST_COOLDOWN - 1)
    await until(lambda: len(harness.network.posts) == 1)
    await until(lambda: not harness.leased())
    rests = resting_until(harness, hook_id)
    assert rests == harness.clock.now() + 4 * FIRST_COOLDOWN * SECOND, "a probe doubles the rest"
    harness.network.script = lambda post: said()
    hasten(4 * FIRST_COOLDOWN)
    await until(lambda: harness.states(hook_id)["delivered"] >= 20)
    assert resting_until(harness, hook_id) is None


async def test_one_failed_probe_opens_the_breaker_after_a_rest_that_a_restart_outlasted(
    harness: WorkerHarness,
) -> None:
    hook_id = await opened(harness)
    harness.clock.advance(60)
    worker = await harness.work()
    await until(lambda: hook_id in worker.dispatcher.local.full())
    await until(lambda: not harness.leased())
    assert len(harness.network.posts) == harness.network.most["h1.example"] == 1
    rests = resting_until(harness, hook_id)
    assert rests == harness.clock.now() + 4 * FIRST_COOLDOWN * SECOND


async def goes_on(harness: WorkerHarness, hook_id: int, many: int) -> None:
    """Let much time pass, and check that `many` deliveries of a healthy hook have arrived."""
    worker = harness.worker
    assert worker is not None
    for _ in range(3):
        await harness.pass_time(60)
        hasten(120)
        await worker.lease.scan()
        await settle()
    await until(lambda: harness.states(hook_id).get("delivered", 0) == many)


async def test_a_hook_that_rests_and_is_held_goes_on_after_a_restart(
    harness: WorkerHarness,
) -> None:
    harness.network.script = lambda post: said(503, head=b"Retry-After: 60")
    hook_id = harness.hook(options={"breaker": 1, "concurrency": 1})
    await harness.work()
    await harness.events(5)
    await until(lambda: len(harness.network.posts) == 1)
    await until(lambda: not harness.leased())
    await harness.rest()
    harness.clock.advance(1)
    harness.network.script = lambda post: said()
    worker = await harness.work()
    await until(lambda: hook_id in worker.dispatcher.local.full())
    await goes_on(harness, hook_id, 5)


async def test_a_rest_that_ends_while_the_hook_is_read_again_is_over(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook_id = await opened(harness)
    harness.clock.advance(2 * FIRST_COOLDOWN - 1)
    harness.network.script = lambda post: said()
    restore = target_cache.restore
    restored: list[Lane] = []

    def slowly(lane: Lane, now: int, loop_now: float) -> None:
        restore(lane, now, loop_now)
        if not restored:
            # A wake-up has the hook read again, and the second read takes two seconds.
            lane.invalidate()
            hasten(2)
        restored.append(lane)

    monkeypatch.setattr(target_cache, "restore", slowly)
    await harness.work()
    await until(lambda: len(harness.network.posts) >= 1)
    await harness.events(3)
    await goes_on(harness, hook_id, 23)
    assert len(restored) >= 2


def enable(harness: WorkerHarness, hook_id: int) -> None:
    harness.edit(hook_id, active=False)
    harness.edit(hook_id, active=True)


def resume(harness: WorkerHarness, hook_id: int) -> None:
    row = harness.store.write_sync(hook_pauses.pause, harness.hook_row(hook_id))
    harness.store.write_sync(hook_pauses.resume, row)


def mend(harness: WorkerHarness, hook_id: int) -> None:
    harness.edit(hook_id, url="https://mended.example/hook")


CHANGES = {"edit": mend, "resume": resume, "enable": enable}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_hook_that_was_changed_during_its_rest_is_tried_after_a_restart(
    harness: WorkerHarness, change: str
) -> None:
    hook_id = await opened(harness)
    harness.clock.advance(1)
    CHANGES[change](harness, hook_id)
    harness.network.script = lambda post: said()
    await harness.work()
    await until(lambda: harness.states(hook_id)["delivered"] >= 10)


@pytest.mark.parametrize("change", CHANGES)
async def test_a_hook_that_is_changed_during_its_rest_is_tried_at_the_next_poll(
    harness: WorkerHarness, change: str
) -> None:
    harness.tuning = LASTING
    hook_id = await resting(harness)
    await harness.events(1)
    await harness.pass_time(1)
    assert len(harness.network.posts) == 4, "nothing has changed yet"
    CHANGES[change](harness, hook_id)
    harness.network.script = lambda post: said()
    await harness.events(1)
    await harness.pass_time(harness.tuning.poll_interval)
    await until(lambda: harness.states(hook_id)["delivered"] >= 10)


async def test_one_failed_probe_of_a_changed_hook_opens_its_breaker(
    harness: WorkerHarness,
) -> None:
    harness.tuning = LASTING
    hook_id = await resting(harness)
    harness.clock.advance(1)
    harness.edit(hook_id, content_type="form")
    await harness.pass_time(1)
    await until(lambda: len(harness.network.posts) == 5)
    await until(lambda: not harness.leased())
    await harness.pass_time(1)
    assert len(harness.network.posts) == 5


async def failing_at_a_new_url(harness: WorkerHarness) -> int:
    """A hook whose first URL had failed, and whose second one has just opened its breaker too."""
    harness.tuning = LASTING
    hook_id = await resting(harness)
    harness.clock.advance(1)
    harness.edit(hook_id, url="https://mended.example/hook")
    assert resting_until(harness, hook_id) is None
    await harness.pass_time(1)
    await until(lambda: len(harness.network.posts) == 4 + 3)
    await until(lambda: not harness.leased())
    return hook_id


async def test_a_new_url_has_failures_of_its_own(harness: WorkerHarness) -> None:
    hook_id = await failing_at_a_new_url(harness)
    until_then = harness.clock.now() + round(LASTING.first_cooldown * SECOND)
    assert resting_until(harness, hook_id) == until_then


async def test_a_new_url_rests_no_longer_than_its_own_failures_say(
    harness: WorkerHarness,
) -> None:
    await failing_at_a_new_url(harness)
    hasten(LASTING.first_cooldown)
    await until(lambda: len(harness.network.posts) == 4 + 3 + 1)


async def test_a_hook_with_a_rate_keeps_it_after_a_change_during_its_rest(
    harness: WorkerHarness,
) -> None:
    harness.tuning = LASTING
    hook_id = await resting(harness)
    harness.clock.advance(1)
    options = {"breaker": 3, "concurrency": 1, "rate": 1}
    harness.edit(hook_id, url="https://mended.example/hook", options=options)
    harness.network.script = lambda post: said()
    await harness.pass_time(1)
    await until(lambda: harness.states(hook_id)["delivered"] >= 1)
    hasten(1)
    await until(lambda: harness.states(hook_id)["delivered"] >= 2)


async def test_a_failing_hook_gets_one_request_at_once_after_a_restart(
    harness: WorkerHarness,
) -> None:
    harness.network.script = failing
    harness.hook(options={"breaker": 0})
    await harness.work()
    await harness.events(20)
    await until(lambda: len(harness.network.posts) == 20)
    await harness.rest()
    harness.network.most.clear()
    await harness.work()
    await harness.events(20)
    await until(lambda: len(harness.network.posts) == 40)
    assert harness.network.most["h1.example"] == 1


async def test_events_during_a_cooldown_wait_in_the_store(harness: WorkerHarness) -> None:
    harness.tuning = Tuning(first_cooldown=60.0)
    harness.network.script = failing
    harness.hook(options={"breaker": 1})
    other = harness.hook(events=["push", "issues"], options={"breaker": 0})
    await harness.work()
    await harness.event()
    await until(lambda: len(harness.network.posts) == 2)
    await harness.events(10)
    await until(lambda: len(harness.network.to("h2.example")) == 11)
    await settle()
    await harness.all_returned()
    assert len(harness.network.to("h1.example")) == 1
    assert harness.states(other) == {"waiting": 11}


async def test_a_rest_ends_although_the_rate_had_a_timer(harness: WorkerHarness) -> None:
    answers = iter([said(500)])
    harness.network.script = lambda post: next(answers, said())
    hook_id = harness.hook(options={"breaker": 1, "rate": 100})
    worker = await harness.work()
    await harness.events(5)
    await until(lambda: hook_id in worker.dispatcher.local.full())
    hasten(FIRST_COOLDOWN / 2)
    await settle()
    assert len(harness.network.posts) == 1
    hasten(FIRST_COOLDOWN)
    await until(lambda: harness.counts()["delivered"] == 4)


async def test_breaker_0_never_rests(harness: WorkerHarness) -> None:
    harness.network.script = failing
    harness.hook(options={"breaker": 0})
    await harness.work()
    await harness.events(40)
    await until(lambda: len(harness.network.posts) == 40)


# The common limit.


async def test_the_common_limit_is_kept_and_shared(harness: WorkerHarness) -> None:
    harness.network.script = quick
    for _ in range(10):
        harness.hook()
    await harness.work(max_in_flight=5)
    await harness.events(20)
    await harness.over(delivered=200)
    assert harness.network.most[""] == 5
    first_half = Counter(post.host for post in harness.network.posts[:100])
    assert len(first_half) == 10
    assert min(first_half.values()) >= 5, first_half


async def test_a_hanging_hook_leaves_room_under_the_common_limit(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    harness.hook()
    healthy = harness.hook()
    await harness.work(max_in_flight=FIRST_WINDOW + 1)
    await harness.events(30)
    await until(lambda: harness.states(healthy) == {"delivered": 30})
    gate.opened.set()
    await harness.over(delivered=60)


# Creation and removal of lanes.


async def test_a_lane_without_work_is_forgotten(harness: WorkerHarness) -> None:
    hook_id = harness.hook()
    worker = await harness.work()
    await harness.event()
    await harness.over(delivered=1)
    await until(lambda: worker.dispatcher.in_flight == 0)
    assert hook_id in worker.dispatcher.lanes
    await worker.lease.scan()
    assert hook_id not in worker.dispatcher.lanes
    await harness.event()
    await harness.over(delivered=2)


async def test_a_lane_that_is_being_claimed_for_is_not_made_twice(harness: WorkerHarness) -> None:
    harness.hook(options={"concurrency": 1})
    worker = await harness.work()
    harness.network.script = quick
    for _ in range(30):
        with_courier, harness.store.notifier = (
            harness.store.notifier,
            harness.store.engine.remote_notifier(),
        )
        await harness.event()
        harness.store.notifier = with_courier
        await asyncio.gather(*(worker.lease.scan() for _ in range(3)))
        await asyncio.sleep(0)
        await worker.lease.scan()
    await harness.over(delivered=30)
    assert harness.network.most["h1.example"] == 1
