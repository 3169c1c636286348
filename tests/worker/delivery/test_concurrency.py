"""The limits of requests in flight that all hooks share: fairness between hosts and machines."""

import asyncio

import pytest
from calls import counting_calls
from receivers import LOOPBACK, OK, Call, serving
from required import required
from waiting import until
from worker_harness import Gate, WorkerHarness, settle

from store.delivery import deliveries
from worker.delivery import concurrency
from worker.delivery.concurrency import FAIR_SHARE, UNKNOWN_HOST, FairSemaphore, Permit
from worker.delivery.lane import Lane
from worker.http.guard import Guard
from worker.settings import WorkerSettings
from worker.tuning import Tuning


def lane(number: int, host: str) -> Lane:
    return Lane(number, host=host)


def taken(semaphore: FairSemaphore, host: str) -> list[Permit]:
    """Acquire permits for a host until it can get no more. Return them."""
    found = []
    while semaphore.can_acquire(host, host):
        found.append(semaphore.acquire(host, host))
    return found


def test_a_host_alone_gets_its_share_and_no_more() -> None:
    semaphore = FairSemaphore(900)
    assert len(taken(semaphore, "slow")) == 900 * FAIR_SHARE // (FAIR_SHARE + 1)
    assert len(taken(semaphore, "next")) > 50
    assert semaphore.can_acquire("third", "third")


def test_few_turns_can_all_be_had_by_one() -> None:
    assert len(taken(FairSemaphore(5), "only")) == 5


def test_hosts_take_turns_and_within_a_host_its_lanes() -> None:
    semaphore = FairSemaphore(1)
    held = semaphore.acquire("a", "a")
    for number, host in enumerate(("a", "a", "b", "a", "c")):
        semaphore.enqueue(lane(number, host), now=float(number))
    assert semaphore.dequeue() is None
    semaphore.release(held)
    order = []
    while found := semaphore.dequeue():
        order.append(found.hook_id)
        assert not found.waiting
    assert order == [0, 2, 4, 1, 3]
    assert semaphore.waiting_since() is None


def test_a_turn_is_given_up_only_for_a_host_that_can_have_it() -> None:
    semaphore = FairSemaphore(90)
    held = taken(semaphore, "slow")
    semaphore.enqueue(lane(1, "slow"), now=1.0)
    quick = semaphore.acquire("quick", "quick")
    assert not semaphore.is_contended("quick")
    assert semaphore.waiting_since() is None, "the lane waits for its own host only"
    semaphore.enqueue(lane(2, "other"), now=2.0)
    assert semaphore.is_contended("quick")
    assert semaphore.waiting_since() == 2.0
    semaphore.release(quick)
    for each in held:
        semaphore.release(each)
    assert semaphore.in_flight == 0
    assert semaphore.idle


def test_a_turn_moves_to_the_host_it_was_for_if_there_is_room() -> None:
    semaphore = FairSemaphore(9)
    unknown = [semaphore.acquire(UNKNOWN_HOST, UNKNOWN_HOST) for _ in range(9)]
    moved = [semaphore.assign_host(permit, "slow", "slow") for permit in unknown]
    assert not semaphore.can_acquire("slow", "slow")
    for permit, there in zip(unknown, moved, strict=True):
        assert (permit.host == "slow") is there
        semaphore.release(permit)
    assert semaphore.idle


async def test_many_hooks_on_a_hanging_host_leave_room_for_another(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["slow.example"])
    slow = [harness.hook(f"https://slow.example/{number}") for number in range(60)]
    quick = harness.hook("https://quick.example/")
    await harness.work(max_in_flight=18)
    for _ in range(3):
        await harness.event()
    await until(lambda: harness.states(quick) == {"delivered": 3})
    assert harness.network.most["slow.example"] <= 16
    gate.opened.set()
    await harness.over(delivered=3 * (len(slow) + 1))
    assert harness.network.most["slow.example"] <= 16


def on(machine: str, number: int, host: str = "") -> Lane:
    return Lane(number, host=host or f"{machine}:{number}", machine=machine)


def test_a_machine_has_a_limit_over_all_its_hosts() -> None:
    semaphore = FairSemaphore(100, per_machine=5)
    held = [semaphore.acquire(f"name{number}", "192.0.2.1") for number in range(5)]
    assert not semaphore.can_acquire("name5", "192.0.2.1")
    assert semaphore.can_acquire("name5", "192.0.2.2")
    semaphore.release(held.pop())
    assert semaphore.can_acquire("name5", "192.0.2.1")


def test_a_request_counts_for_the_machine_that_it_reaches() -> None:
    semaphore = FairSemaphore(100, per_machine=2)
    held = [semaphore.acquire(name, name) for name in ("a", "b", "c")]
    reached = [semaphore.assign_machine(permit, "192.0.2.1") for permit in held]
    assert reached == [True, True, False]
    assert semaphore.can_acquire("d", "d")
    assert not semaphore.can_acquire("d", "192.0.2.1")
    assert semaphore.assign_machine(held[0], "192.0.2.1"), (
        "the permit counts for this machine already"
    )
    semaphore.release(held[0])
    assert semaphore.assign_machine(held[2], "192.0.2.1")
    for permit in held[1:]:
        semaphore.release(permit)
    assert semaphore.idle


def test_the_end_of_a_request_wakes_one_that_waits_for_its_machine() -> None:
    semaphore = FairSemaphore(100, per_machine=1)
    first, other = semaphore.acquire("x", "x"), semaphore.acquire("y", "y")
    for number in range(3):
        semaphore.enqueue(on("x", number, "x"), now=1.0)
        semaphore.enqueue(on("y", 10 + number, "y"), now=1.0)
    assert semaphore.dequeue() is None
    assert semaphore.held == 6
    assert semaphore.waiting_since() is None, "the lanes wait for their own machines only"
    assert not semaphore.is_contended("z")
    semaphore.release(first)
    woken = required(semaphore.dequeue())
    assert woken.hook_id == 0
    semaphore.acquire("x", "x")
    assert semaphore.dequeue() is None
    semaphore.release(other)
    woken = required(semaphore.dequeue())
    assert woken.hook_id == 10


def test_a_lane_that_does_not_want_its_turn_any_more_leaves_it_to_the_next() -> None:
    semaphore = FairSemaphore(100, per_machine=1)
    permit = semaphore.acquire("x", "x")
    for number in range(3):
        semaphore.enqueue(on("x", number, "x"), now=1.0)
    semaphore.release(permit)
    woken = [lane.hook_id for lane in iter(semaphore.dequeue, None)]
    assert woken == [0, 1, 2]


def test_hooks_behind_their_host_s_share_are_held() -> None:
    semaphore = FairSemaphore(1000, per_machine=64)
    assert len(taken(semaphore, "x")) == 57
    for number in range(3):
        semaphore.enqueue(on("x", number, "x"), now=1.0)
    assert semaphore.dequeue() is None
    assert semaphore.held == 3
    semaphore.enqueue(on("y", 4, "y"), now=1.0)
    assert semaphore.held == 3


def test_a_raised_limit_wakes_a_waiting_hook() -> None:
    semaphore = FairSemaphore(100, per_machine=1)
    semaphore.acquire("x", "x")
    semaphore.enqueue(on("x", 1, "x"), now=1.0)
    assert semaphore.dequeue() is None
    semaphore.change(100, 2)
    woken = required(semaphore.dequeue())
    assert woken.hook_id == 1


@pytest.mark.parametrize("hosts", [1, 10_000])
def test_hooks_that_wait_for_a_machine_cost_others_nothing(hosts: int) -> None:
    """10,000 hooks wait for one machine, which has one host or 10,000."""
    semaphore = FairSemaphore(1000, per_machine=4)
    held = [semaphore.acquire(f"x:{number % hosts}", "x") for number in range(4)]
    for number in range(10_000):
        semaphore.enqueue(on("x", number, f"x:{number % hosts}"), now=1.0)
    with counting_calls(concurrency) as calls:
        _pass_permits(semaphore, held)
    assert calls[0] < 30 * 11_000, "the calls of a step do not depend on the waiting hooks"


def _pass_permits(semaphore: FairSemaphore, held: list[Permit]) -> None:
    for _ in range(1000):
        permit = semaphore.acquire("quick", "quick")
        assert not semaphore.is_contended("quick")
        semaphore.release(permit)
        assert semaphore.dequeue() is None
    for _ in range(10_000):
        semaphore.release(held.pop(0))
        found = required(semaphore.dequeue())
        held.append(semaphore.acquire(found.host, found.machine))
        assert semaphore.dequeue() is None


def test_all_hooks_of_a_machine_have_their_turn() -> None:
    semaphore = FairSemaphore(1000, per_machine=2)
    lanes = [on("x", number, f"x:{number % 3}") for number in range(9)]
    held = [semaphore.acquire("x:0", "x"), semaphore.acquire("x:1", "x")]
    for lane in lanes:
        semaphore.enqueue(lane, now=1.0)
    order = []
    for _ in range(27):
        semaphore.release(held.pop(0))
        found = required(semaphore.dequeue())
        order.append(found.hook_id)
        held.append(semaphore.acquire(found.host, found.machine))
        semaphore.enqueue(found, now=1.0)
    assert [sorted(order[part : part + 9]) for part in (0, 9, 18)] == [list(range(9))] * 3


async def test_600_hooks_on_one_host_make_no_more_requests_than_it_may_have(
    harness: WorkerHarness,
) -> None:
    harness.tuning = Tuning(quantum=0.0)
    gate = harness.network.script = Gate(["slow.example"])
    slow = [harness.hook(f"https://slow.example/{number}") for number in range(600)]
    quick = harness.hook("https://quick.example/")
    worker = await harness.work(max_in_flight_per_host=8)
    await harness.event()
    await until(lambda: harness.states(quick) == {"delivered": 1})
    await until(lambda: worker.dispatcher.metrics.held.read() == 600 - 8)
    assert harness.network.in_flight["slow.example"] == 8
    for _ in range(3):
        await harness.event()
    await until(lambda: harness.states(quick) == {"delivered": 4})
    assert worker.lease.lag == 0, "lanes that wait for their host do not count as lag"
    gate.opened.set()
    await harness.over(delivered=4 * (len(slow) + 1))
    assert harness.network.most["slow.example"] == 8
    firsts = [post.endpoint.target for post in harness.network.to("slow.example")[:600]]
    assert len(set(firsts)) == 600, "each hook gets a permit before any hook gets a second one"


async def test_a_host_of_many_names_and_ports_is_one_host(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate([f"n{number}.example" for number in range(40)])
    for number in range(40):
        harness.network.addresses[f"n{number}.example"] = "192.0.2.7"
        harness.hook(f"https://n{number}.example:{8000 + number}/")
    quick = harness.hook("https://quick.example/")
    worker = await harness.work(max_in_flight_per_host=3)
    await harness.events(5)
    await until(lambda: harness.states(quick) == {"delivered": 5})
    await until(lambda: worker.dispatcher.metrics.held.read() == 40)
    assert harness.network.in_flight[""] == 3
    gate.opened.set()
    await harness.over(delivered=5 * 41)
    assert sum(1 for post in harness.network.posts if post.host != "quick.example") == 5 * 40
    assert harness.network.most[""] <= 3 + 3, "the quick host has requests of its own"


async def test_the_limit_of_a_machine_covers_all_its_ports(harness: WorkerHarness) -> None:
    """The receivers are real sockets, so names are resolved and connections are kept."""
    open_now = most = 0

    async def counting(call: Call) -> None:
        nonlocal open_now, most
        while True:
            await call.request()
            open_now += 1
            most = max(most, open_now)
            await asyncio.sleep(0.002)
            open_now -= 1
            await call.say(OK)

    async with serving(counting) as one, serving(counting) as two:
        for number in range(10):
            harness.hook(f"{one.url}{number}")
            harness.hook(f"{two.url.replace('127.0.0.1', 'localhost')}{number}")
        await harness.work(real=True, max_in_flight_per_host=3, guard=Guard(
            allow_networks=LOOPBACK, resolver=loopback))  # fmt: skip
        await harness.events(20)
        await harness.over(delivered=400)
        await harness.rest()
    assert most == 3
    assert all(len(harness.attempts(hook_id)) == 20 for hook_id in range(1, 21)), (
        "each event is sent once to each hook"
    )


async def loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


async def test_redeliveries_and_pings_have_no_way_around(harness: WorkerHarness) -> None:
    for number in range(30):
        harness.hook(f"https://slow.example/{number}")
    await harness.work(max_in_flight_per_host=2)
    receipt = await harness.event()
    await harness.over(delivered=30)
    gate = harness.network.script = Gate(["slow.example"])
    for hook_id in range(1, 31):
        harness.store.write_sync(
            deliveries.redeliver, receipt.event_id, hook_id, harness.repo["id"]
        )
    await until(lambda: harness.network.in_flight["slow.example"] == 2)
    await settle()
    assert harness.network.in_flight["slow.example"] == 2
    gate.opened.set()
    await harness.over(delivered=60)
    assert harness.network.most["slow.example"] == 2


async def test_the_limit_of_a_host_can_be_changed(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["slow.example"])
    for number in range(10):
        harness.hook(f"https://slow.example/{number}")
    worker = await harness.work(max_in_flight_per_host=2)
    await harness.event()
    await until(lambda: harness.network.in_flight["slow.example"] == 2)
    worker.change(WorkerSettings(allow_networks=LOOPBACK, jitter=0, max_in_flight_per_host=5))
    await until(lambda: harness.network.in_flight["slow.example"] == 5)
    gate.opened.set()
    await harness.over(delivered=10)
    assert harness.network.most["slow.example"] == 5
