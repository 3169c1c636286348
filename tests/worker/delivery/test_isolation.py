"""One endpoint's trouble is its own: lanes, windows, rates, breakers and the common limit."""

import asyncio
from collections import Counter

import pytest
from house import Gate, House, Post, said, settle
from passing import hasten
from receivers import OK, Call, serving
from waiting import until

from store.delivery import events
from worker.delivery.lane import FIRST_WINDOW, Lane
from worker.http.answer import ExchangeResult
from worker.tuning import DEFAULTS, Tuning

FIRST_COOLDOWN = DEFAULTS.first_cooldown


async def quick(post: Post) -> ExchangeResult:
    """Answers after a moment, so that requests overlap."""
    await asyncio.sleep(0.001)
    return said()


def failing(post: Post) -> ExchangeResult:
    return said(500)


# A hanging endpoint.


async def test_while_one_hangs_all_the_others_are_delivered(house: House) -> None:
    gate = house.network.script = Gate(["h1.example"])
    hanging, *healthy = (house.hook() for _ in range(4))
    await house.work()
    await house.events(50)
    for hook_id in healthy:
        await until(lambda hook_id=hook_id: house.states(hook_id) == {"delivered": 50})
    assert house.states(hanging) == {"waiting": 50}
    assert house.network.most["h1.example"] == FIRST_WINDOW
    gate.opened.set()
    await house.over(delivered=200)


async def test_one_that_begins_to_hang_holds_its_window_at_most(house: House) -> None:
    hook_id = house.hook()
    await house.work()
    await house.events(5)
    await house.over(delivered=5)
    gate = house.network.script = Gate(["h1.example"])
    await house.events(60)
    await until(lambda: house.network.in_flight["h1.example"] == FIRST_WINDOW + 5)
    await settle()
    assert house.network.in_flight["h1.example"] == FIRST_WINDOW + 5
    gate.opened.set()
    await until(lambda: house.states(hook_id) == {"delivered": 65})


async def test_a_backlog_of_5000_for_a_hanging_hook_delays_nobody(house: House) -> None:
    gate = house.network.script = Gate(["h1.example"])
    hanging = house.hook()
    backlog = [house.arrival() for _ in range(5000)]
    house.store.do(events.accept_all, backlog)
    healthy = house.hook(events=["issues"])
    worker = await house.work()
    await until(lambda: house.network.in_flight["h1.example"] == FIRST_WINDOW)
    for _ in range(3):
        await house.event(name="issues")
    await until(lambda: house.states(healthy) == {"delivered": 3})
    assert house.states(hanging) == {"waiting": 5000}
    assert len(house.leased()) <= DEFAULTS.max_queue + FIRST_WINDOW, (
        "memory holds lanes, not queues"
    )
    gate.opened.set()
    await house.over(delivered=5003)
    assert worker.dispatcher.in_flight == 0
    assert worker.dispatcher.queued == 0


async def test_hanging_hooks_that_fill_memory_leave_room_for_the_others(house: House) -> None:
    house.tuning = Tuning(max_buffered=50)
    gate = house.network.script = Gate([f"h{n}.example" for n in range(1, 6)])
    for _ in range(5):
        house.hook()
    healthy = house.hook(events=["issues"])
    worker = await house.work()
    await house.events(20)
    await until(lambda: worker.dispatcher.queued > 50)
    for _ in range(40):
        await house.event(name="issues")
    await until(lambda: house.states(healthy) == {"delivered": 40})
    gate.opened.set()
    await house.over(delivered=140)


# How many at once.


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_the_concurrency_of_a_hook(house: House, concurrency: int) -> None:
    house.network.script = quick
    house.hook(options={"concurrency": concurrency})
    await house.work()
    await house.events(60)
    await house.over(delivered=60)
    assert house.network.most["h1.example"] == concurrency


async def test_the_concurrency_as_the_receiver_sees_it(house: House) -> None:
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
                # All but those whose success allows so many.
                await together.wait()
            await asyncio.sleep(0.002)
            open_now -= 1
            await call.say(OK)

    async with serving(counting) as receiver:
        house.hook(receiver.url, options={"concurrency": 6})
        await house.work(real=True)
        await house.events(100)
        await house.over(delivered=100)
        await house.rest()
    assert most == 6
    assert receiver.connections == 6, "connections are kept"


async def test_the_window_grows_while_the_queue_lasts(house: House) -> None:
    house.network.script = quick
    house.hook()
    await house.work()
    await house.events(250)
    await house.over(delivered=250)
    assert house.network.most["h1.example"] == 32


async def test_the_window_shrinks_when_it_fails(house: House) -> None:
    house.network.script = quick
    house.hook(options={"breaker": 0})
    await house.work()
    await house.events(100)
    await house.over(delivered=100)
    house.network.script = failing
    await house.events(40)
    await until(lambda: len(house.network.posts) == 140)
    house.network.most.clear()
    await house.events(20)
    await until(lambda: len(house.network.posts) == 160)
    assert house.network.most["h1.example"] == 1


async def test_a_concurrency_that_is_lowered_holds_from_the_next_event(house: House) -> None:
    house.network.script = quick
    hook_id = house.hook()
    await house.work()
    await house.events(100)
    await house.over(delivered=100)
    house.edit(hook_id, options={"concurrency": 2})
    await house.event()
    await house.over(delivered=101)
    house.network.most.clear()
    await house.events(50)
    await house.over(delivered=151)
    assert house.network.most["h1.example"] == 2


async def test_a_request_is_not_made_twice_by_requests_that_end_together(house: House) -> None:
    house.network.script = quick
    for _ in range(10):
        house.hook()
    await house.work()
    for _ in range(5):
        await house.events(20)
    await house.over(delivered=1000)
    sent = Counter((post.host, post.guid) for post in house.network.posts)
    assert set(sent.values()) == {1}


# The rate.


async def test_the_rate_of_a_hook(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    begun: list[float] = []
    spend = Lane.count_request

    def spending(lane: Lane, now: float) -> None:
        if lane.rate is not None:
            # When a busy machine then sends it is not the rate's doing.
            begun.append(now)
        spend(lane, now)

    times: list[float] = []

    def timed(post: Post) -> ExchangeResult:
        times.append(loop.time())
        return said()

    monkeypatch.setattr(Lane, "count_request", spending)
    house.network.script = timed
    house.hook(options={"rate": 50})
    await house.work()
    await house.events(11)
    await house.over(delivered=11)
    assert len(begun) == len(times)
    assert all(before <= sent for before, sent in zip(begun, times, strict=True))
    assert begun[-1] - begun[0] >= 10 / 50 * 0.99
    assert begun[3] - begun[0] >= 3 / 50 * 0.99, "no burst at the beginning"


async def test_the_rate_holds_for_one_that_was_fast_before(house: House) -> None:
    house.network.script = quick
    hook_id = house.hook()
    await house.work()
    await house.events(100)
    await house.over(delivered=100)
    house.edit(hook_id, options={"rate": 40})
    await house.event()
    await house.over(delivered=101)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await house.events(8)
    await house.over(delivered=109)
    assert loop.time() - began >= 7 / 40 * 0.9


async def test_a_rate_costs_the_others_nothing(house: House) -> None:
    slow = house.hook(options={"rate": 0.01})
    fast = house.hook()
    await house.work()
    await house.events(30)
    await until(lambda: house.states(fast) == {"delivered": 30})
    await until(lambda: house.states(slow) == {"delivered": 1, "waiting": 29})


# The breaker.


async def test_the_breaker_opens_gives_back_probes_and_closes(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.network.script = failing
    hook_id = house.hook(options={"breaker": 3, "concurrency": 1})
    worker = await house.work()
    await house.events(20)
    await until(lambda: len(house.network.posts) == 3)
    await until(lambda: not house.leased())
    assert hook_id in worker.dispatcher.local.full()
    assert "rests for" in caplog.text
    assert resting_until(house, hook_id) is not None
    hasten(FIRST_COOLDOWN)
    await until(lambda: len(house.network.posts) == 4)
    await until(lambda: not house.leased())
    hasten(2 * FIRST_COOLDOWN)
    await until(lambda: len(house.network.posts) == 5)
    await until(lambda: not house.leased())
    assert house.network.most["h1.example"] == 1
    house.network.script = lambda post: said()
    hasten(4 * FIRST_COOLDOWN)
    await until(lambda: house.states(hook_id)["delivered"] >= 15)
    assert hook_id not in worker.dispatcher.local.full()
    await house.pass_time(5)
    await house.over(delivered=20)
    assert resting_until(house, hook_id) is None


def resting_until(house: House, hook_id: int) -> int | None:
    """As the store tells of it."""
    sql = "SELECT resting_until FROM hook WHERE id = :id"
    found: int | None = house.store.look(lambda db: db.value(sql, id=hook_id))
    return found


async def test_what_arrives_during_a_rest_waits_in_the_store(house: House) -> None:
    house.tuning = Tuning(first_cooldown=60.0)
    house.network.script = failing
    resting = house.hook(options={"breaker": 1})
    other = house.hook(events=["push", "issues"], options={"breaker": 0})
    await house.work()
    await house.event()
    await until(lambda: len(house.network.posts) == 2)
    await house.events(10)
    await until(lambda: len(house.network.to("h2.example")) == 11)
    await settle()
    assert not [row for row in house.leased() if row["hook_id"] == resting]
    assert len(house.network.to("h1.example")) == 1
    assert house.states(other) == {"waiting": 11}


async def test_a_rest_ends_although_the_rate_had_a_timer(house: House) -> None:
    answers = iter([said(500)])
    house.network.script = lambda post: next(answers, said())
    hook_id = house.hook(options={"breaker": 1, "rate": 100})
    worker = await house.work()
    await house.events(5)
    await until(lambda: hook_id in worker.dispatcher.local.full())
    hasten(FIRST_COOLDOWN / 2)
    await settle()
    assert len(house.network.posts) == 1
    hasten(FIRST_COOLDOWN)
    await until(lambda: house.counts()["delivered"] == 4)


async def test_breaker_0_never_rests(house: House) -> None:
    house.network.script = failing
    house.hook(options={"breaker": 0})
    await house.work()
    await house.events(40)
    await until(lambda: len(house.network.posts) == 40)


# The common limit.


async def test_the_common_limit_is_kept_and_shared(house: House) -> None:
    house.network.script = quick
    for _ in range(10):
        house.hook()
    await house.work(max_in_flight=5)
    await house.events(20)
    await house.over(delivered=200)
    assert house.network.most[""] == 5
    first_half = Counter(post.host for post in house.network.posts[:100])
    assert len(first_half) == 10
    assert min(first_half.values()) >= 5, first_half


async def test_under_the_common_limit_a_hanging_hook_leaves_room(house: House) -> None:
    gate = house.network.script = Gate(["h1.example"])
    house.hook()
    healthy = house.hook()
    await house.work(max_in_flight=FIRST_WINDOW + 1)
    await house.events(30)
    await until(lambda: house.states(healthy) == {"delivered": 30})
    gate.opened.set()
    await house.over(delivered=60)


# Lanes come and go.


async def test_a_lane_without_work_is_forgotten(house: House) -> None:
    hook_id = house.hook()
    worker = await house.work()
    await house.event()
    await house.over(delivered=1)
    await until(lambda: worker.dispatcher.in_flight == 0)
    assert hook_id in worker.dispatcher.lanes
    await worker.lease.scan()
    assert hook_id not in worker.dispatcher.lanes
    await house.event()
    await house.over(delivered=2)


async def test_a_lane_that_is_being_claimed_for_is_not_made_twice(house: House) -> None:
    house.hook(options={"concurrency": 1})
    worker = await house.work()
    house.network.script = quick
    for _ in range(30):
        with_courier, house.store.notifier = (
            house.store.notifier,
            house.store.engine.remote_notifier(),
        )
        await house.event()
        house.store.notifier = with_courier
        await asyncio.gather(*(worker.lease.scan() for _ in range(3)))
        await asyncio.sleep(0)
        await worker.lease.scan()
    await house.over(delivered=30)
    assert house.network.most["h1.example"] == 1
