"""Whose turn it is at the common limit."""

import asyncio
from collections import Counter

import pytest
from house import LOOPBACK, Gate, House, settle
from receivers import OK, Call, serving
from waiting import until

from store.delivery import deliveries
from worker.delivery import dispatcher
from worker.delivery.concurrency import FAIR_SHARE, UNKNOWN_HOST, FairSemaphore, Permit
from worker.delivery.lane import Lane
from worker.http.guard import Guard
from worker.settings import WorkerSettings


def lane(number: int, host: str) -> Lane:
    return Lane(number, host=host)


def taken(turns: FairSemaphore, host: str) -> list[Permit]:
    """All the turns that a host can get."""
    found = []
    while turns.may(host):
        found.append(turns.take(host))
    return found


def test_a_host_alone_gets_its_share_and_no_more() -> None:
    turns = FairSemaphore(900)
    assert len(taken(turns, "slow")) == 900 * FAIR_SHARE // (FAIR_SHARE + 1)
    assert len(taken(turns, "next")) > 50
    assert turns.may("third")


def test_few_turns_can_all_be_had_by_one() -> None:
    assert len(taken(FairSemaphore(5), "only")) == 5


def test_hosts_take_turns_and_within_a_host_its_lanes() -> None:
    turns = FairSemaphore(1)
    held = turns.take("a")
    for number, host in enumerate(("a", "a", "b", "a", "c")):
        turns.enqueue(lane(number, host), now=float(number))
    assert turns.next() is None
    turns.give(held)
    order = []
    while found := turns.next():
        order.append(found.hook_id)
        assert not found.waiting
    assert order == [0, 2, 4, 1, 3]
    assert turns.waiting_since() is None


def test_a_turn_is_given_up_only_for_who_could_have_it() -> None:
    turns = FairSemaphore(90)
    held = taken(turns, "slow")
    turns.enqueue(lane(1, "slow"), now=1.0)
    quick = turns.take("quick")
    assert not turns.wanted("quick")
    assert turns.waiting_since() is None, "it waits for its own host"
    turns.enqueue(lane(2, "other"), now=2.0)
    assert turns.wanted("quick")
    assert turns.waiting_since() == 2.0
    turns.give(quick)
    for each in held:
        turns.give(each)
    assert turns.in_flight == 0
    assert not turns._of


def test_a_turn_moves_to_the_host_it_was_for_if_there_is_room() -> None:
    turns = FairSemaphore(9)
    unknown = [turns.take(UNKNOWN_HOST) for _ in range(9)]
    moved = [turns.move(turn, "slow") for turn in unknown]
    assert not turns.may("slow")
    for turn, there in zip(unknown, moved, strict=True):
        assert (turn.host == "slow") is there
        turns.give(turn)
    assert not turns._of


async def test_many_hooks_on_a_hanging_host_leave_room_for_another(house: House) -> None:
    gate = house.network.script = Gate(["slow.example"])
    slow = [house.hook(f"https://slow.example/{number}") for number in range(60)]
    quick = house.hook("https://quick.example/")
    await house.work(max_in_flight=18)
    for _ in range(3):
        await house.event()
    await until(lambda: house.states(quick) == {"delivered": 3})
    assert house.network.most["slow.example"] <= 16
    gate.opened.set()
    await house.over(delivered=3 * (len(slow) + 1))
    assert house.network.most["slow.example"] <= 16


def on(machine: str, number: int, host: str = "") -> Lane:
    return Lane(number, host=host or f"{machine}:{number}", machine=machine)


def test_a_machine_has_a_limit_over_all_its_hosts() -> None:
    turns = FairSemaphore(100, per_host=5)
    held = [turns.take(f"name{number}", "192.0.2.1") for number in range(5)]
    assert not turns.may("name5", "192.0.2.1")
    assert turns.may("name5", "192.0.2.2")
    turns.give(held.pop())
    assert turns.may("name5", "192.0.2.1")


def test_a_request_counts_for_the_machine_that_it_reaches() -> None:
    turns = FairSemaphore(100, per_host=2)
    held = [turns.take(name, name) for name in ("a", "b", "c")]
    reached = [turns.reach(turn, "192.0.2.1") for turn in held]
    assert reached == [True, True, False]
    assert turns.may("d", "d")
    assert not turns.may("d", "192.0.2.1")
    assert turns.reach(held[0], "192.0.2.1"), "it is there already"
    turns.give(held[0])
    assert turns.reach(held[2], "192.0.2.1")
    for turn in held[1:]:
        turns.give(turn)
    assert not turns._on
    assert not turns._of


def test_the_end_of_a_request_wakes_one_that_waits_for_its_machine() -> None:
    turns = FairSemaphore(100, per_host=1)
    first, other = turns.take("x", "x"), turns.take("y", "y")
    for number in range(3):
        turns.enqueue(on("x", number, "x"), now=1.0)
        turns.enqueue(on("y", 10 + number, "y"), now=1.0)
    assert turns.next() is None
    assert turns.held == 6
    assert turns.waiting_since() is None, "they wait for their own machines"
    assert not turns.wanted("z")
    turns.give(first)
    woken = turns.next()
    assert woken is not None
    assert woken.hook_id == 0
    turns.take("x", "x")
    assert turns.next() is None
    turns.give(other)
    woken = turns.next()
    assert woken is not None
    assert woken.hook_id == 10


def test_a_lane_that_does_not_want_its_turn_any_more_leaves_it_to_the_next() -> None:
    turns = FairSemaphore(100, per_host=1)
    turn = turns.take("x", "x")
    for number in range(3):
        turns.enqueue(on("x", number, "x"), now=1.0)
    turns.give(turn)
    woken = [lane.hook_id for lane in iter(turns.next, None)]
    assert woken == [0, 1, 2]


def test_who_waits_behind_its_own_share_waits_for_its_machine() -> None:
    turns = FairSemaphore(1000, per_host=64)
    assert len(taken(turns, "x")) == 57
    for number in range(3):
        turns.enqueue(on("x", number, "x"), now=1.0)
    assert turns.next() is None
    assert turns.held == 3
    turns.enqueue(on("y", 4, "y"), now=1.0)
    assert turns.held == 3


def test_limits_that_are_raised_let_go_on_what_waits() -> None:
    turns = FairSemaphore(100, per_host=1)
    turns.take("x", "x")
    turns.enqueue(on("x", 1, "x"), now=1.0)
    assert turns.next() is None
    turns.change(100, 2)
    woken = turns.next()
    assert woken is not None
    assert woken.hook_id == 1


class Asked(Counter[str]):
    """Counts how often it is asked: each time some machine or host is looked at."""

    looks = 0

    def __getitem__(self, key: str) -> int:
        self.looks += 1
        return super().__getitem__(key)


@pytest.mark.parametrize("hosts", [1, 10_000])
def test_what_waits_for_a_machine_costs_the_others_nothing(hosts: int) -> None:
    """However many hooks do, of one host or of many on one machine."""
    turns = FairSemaphore(1000, per_host=4)
    turns._of, turns._on = asked = Asked(), Asked()
    held = [turns.take(f"x:{number % hosts}", "x") for number in range(4)]
    for number in range(10_000):
        turns.enqueue(on("x", number, f"x:{number % hosts}"), now=1.0)
    before = sum(each.looks for each in asked)
    for _ in range(1000):
        turn = turns.take("quick", "quick")
        assert not turns.wanted("quick")
        turns.give(turn)
        assert turns.next() is None
    for _ in range(10_000):
        turns.give(held.pop(0))
        found = turns.next()
        assert found is not None
        held.append(turns.take(found.host, found.machine))
        assert turns.next() is None
    looks = sum(each.looks for each in asked) - before
    assert looks < 30 * 11_000, "each step looks at a few"


def test_all_hooks_of_a_machine_have_their_turn() -> None:
    turns = FairSemaphore(1000, per_host=2)
    lanes = [on("x", number, f"x:{number % 3}") for number in range(9)]
    held = [turns.take("x:0", "x"), turns.take("x:1", "x")]
    for lane in lanes:
        turns.enqueue(lane, now=1.0)
    order = []
    for _ in range(27):
        turns.give(held.pop(0))
        found = turns.next()
        assert found is not None
        order.append(found.hook_id)
        held.append(turns.take(found.host, found.machine))
        turns.enqueue(found, now=1.0)
    assert [sorted(order[part : part + 9]) for part in (0, 9, 18)] == [list(range(9))] * 3


async def test_600_hooks_on_one_host_make_no_more_requests_than_it_may_have(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "QUANTUM", 0.0)
    gate = house.network.script = Gate(["slow.example"])
    slow = [house.hook(f"https://slow.example/{number}") for number in range(600)]
    quick = house.hook("https://quick.example/")
    worker = await house.work(max_in_flight_per_host=8)
    await house.event()
    await until(lambda: house.states(quick) == {"delivered": 1})
    await until(lambda: worker.dispatcher.measures.held.read() == 600 - 8)
    assert house.network.in_flight["slow.example"] == 8
    for _ in range(3):
        await house.event()
    await until(lambda: house.states(quick) == {"delivered": 4})
    assert worker.dispatcher.lag == 0, "nothing waits for this worker"
    gate.opened.set()
    await house.over(delivered=4 * (len(slow) + 1))
    assert house.network.most["slow.example"] == 8
    firsts = [post.endpoint.target for post in house.network.to("slow.example")[:600]]
    assert len(set(firsts)) == 600, "each has its turn before one has its second"


async def test_a_host_of_many_names_and_ports_is_one_host(house: House) -> None:
    gate = house.network.script = Gate([f"n{number}.example" for number in range(40)])
    for number in range(40):
        house.network.addresses[f"n{number}.example"] = "192.0.2.7"
        house.hook(f"https://n{number}.example:{8000 + number}/")
    quick = house.hook("https://quick.example/")
    worker = await house.work(max_in_flight_per_host=3)
    await house.events(5)
    await until(lambda: house.states(quick) == {"delivered": 5})
    await until(lambda: worker.dispatcher.measures.held.read() == 40)
    assert house.network.in_flight[""] == 3
    gate.opened.set()
    await house.over(delivered=5 * 41)
    assert sum(1 for post in house.network.posts if post.host != "quick.example") == 5 * 40
    assert house.network.most[""] <= 3 + 4, "and those to the quick one"


async def test_as_receivers_see_it_by_whatever_port(house: House) -> None:
    """On real sockets: names are resolved, and connections kept."""
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
            house.hook(f"{one.url}{number}")
            house.hook(f"{two.url.replace('127.0.0.1', 'localhost')}{number}")
        await house.work(real=True, max_in_flight_per_host=3, guard=Guard(
            allow_networks=LOOPBACK, resolver=loopback))  # fmt: skip
        await house.events(20)
        await house.over(delivered=400)
        await house.rest()
    assert most == 3
    assert all(len(house.attempts(hook_id)) == 20 for hook_id in range(1, 21)), "each once"


async def loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


async def test_redeliveries_and_pings_have_no_way_around(house: House) -> None:
    for number in range(30):
        house.hook(f"https://slow.example/{number}")
    await house.work(max_in_flight_per_host=2)
    receipt = await house.event()
    await house.over(delivered=30)
    gate = house.network.script = Gate(["slow.example"])
    for hook_id in range(1, 31):
        house.store.do(deliveries.redeliver, receipt.event_id, hook_id, house.repo["id"])
    await until(lambda: house.network.in_flight["slow.example"] == 2)
    await settle()
    assert house.network.in_flight["slow.example"] == 2
    gate.opened.set()
    await house.over(delivered=60)
    assert house.network.most["slow.example"] == 2


async def test_the_limit_of_a_host_can_be_changed(house: House) -> None:
    gate = house.network.script = Gate(["slow.example"])
    for number in range(10):
        house.hook(f"https://slow.example/{number}")
    worker = await house.work(max_in_flight_per_host=2)
    await house.event()
    await until(lambda: house.network.in_flight["slow.example"] == 2)
    worker.change(WorkerSettings(allow_networks=LOOPBACK, jitter=0, max_in_flight_per_host=5))
    await until(lambda: house.network.in_flight["slow.example"] == 5)
    gate.opened.set()
    await house.over(delivered=10)
    assert house.network.most["slow.example"] == 5
