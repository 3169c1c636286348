"""Stopping, crashing, standing still: whatever a worker had in hand is delivered by somebody."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from engines import embedded
from house import Gate, House, settle
from waiting import until

from store import Connection
from store.clock import SECOND
from store.delivery import deliveries, leases
from store.errors import Unavailable, Unusable
from worker.delivery.target import load_target
from worker.service import Worker
from worker.settings import WorkerSettings
from worker.tuning import Tuning

HOUR = 3600


def held(db: Connection) -> list[int]:
    """The leases there are."""
    return [row["id"] for row in db.all("SELECT id FROM lease ORDER BY id")]


# Stopping.


async def test_stopping_lets_what_is_in_flight_end_and_gives_back_the_rest(house: House) -> None:
    gate = house.network.script = Gate(["h1.example"])
    house.hook()
    worker = await house.work()
    await house.events(30)
    await until(lambda: house.network.in_flight["h1.example"] == 4)
    assert len(house.leased()) == 30
    stopping = asyncio.create_task(house.rest())
    await until(lambda: worker.dispatcher.leased.closed)
    await settle(10)
    assert not stopping.done()
    gate.opened.set()
    await stopping
    assert house.counts() == {"waiting": 26, "delivered": 4, "dead": 0, "filtered": 0}
    assert not house.leased()
    assert house.store.look(held) == []
    await house.work()
    await house.over(delivered=30)
    assert len(house.network.posts) == 30


async def test_what_hangs_is_given_back_after_a_while(house: House) -> None:
    assert house.tuning.stop_grace == 10
    house.tuning = Tuning(stop_grace=0.05)
    gate = house.network.script = Gate(["h1.example"])
    hook_id = house.hook()
    await house.work()
    await house.events(10)
    await until(lambda: house.network.in_flight["h1.example"] == 4)
    await house.rest()
    assert house.network.in_flight["h1.example"] == 0
    assert house.states(hook_id) == {"waiting": 10}
    assert house.attempts(hook_id) == []
    gate.opened.set()
    await house.work()
    await house.over(delivered=10)


async def test_events_that_come_while_it_stops_wait(house: House) -> None:
    gate = house.network.script = Gate(["h1.example"])
    house.hook()
    await house.work()
    await house.events(3)
    await until(lambda: house.network.in_flight["h1.example"] == 3)
    arriving = asyncio.gather(*(house.event() for _ in range(20)))
    stopping = asyncio.create_task(house.rest())
    await arriving
    await house.events(20)
    gate.opened.set()
    await stopping
    await house.events(5)
    assert not house.leased()
    await house.work()
    await house.over(delivered=48)


async def test_a_worker_without_work_stops_at_once(house: House) -> None:
    await house.work()
    await house.rest()
    assert house.store.look(held) == []


async def test_stopped_and_started_again_and_again(house: House) -> None:
    house.hook()
    for _ in range(5):
        await house.work()
        await house.events(5)
        await house.rest()
    await house.work()
    await house.over(delivered=25)


# Crashing.


async def test_after_a_crash_everything_is_delivered(house: House) -> None:
    gate = house.network.script = Gate(["h1.example", "h2.example"])
    for _ in range(3):
        house.hook()
    await house.work()
    await house.events(100)
    await until(lambda: len(house.network.to("h3.example")) == 100)
    house.crash()
    assert len(house.leased()) >= 200
    gate.opened.set()
    await house.work()
    await house.over(delivered=300)
    sent = Counter((post.host, post.guid) for post in house.network.posts)
    assert len(sent) == 300, "each at least once"
    assert house.store.look(held) == [2]


async def test_a_crash_before_the_outcome_is_recorded_sends_again(house: House) -> None:
    house.hook()
    await house.work()
    await house.event(guid="twice")
    await until(lambda: len(house.network.posts) == 1)
    house.crash()
    await house.work()
    await house.over(delivered=1)
    assert {post.guid for post in house.network.posts} == {"twice"}


# The one worker of a database.


@embedded("one worker at a time; on a server there may be many")
async def test_a_second_worker_is_refused(house: House) -> None:
    await house.work()
    other = house.another_store()
    second = Worker(other, WorkerSettings(), sender=house.network)
    with pytest.raises(Unusable, match="another worker is running on this database"):
        await second.start()
    await second.stop()
    await other.close()
    house.hook()
    await house.event()
    await house.over(delivered=1)


async def test_when_the_first_has_ended_the_second_may_work(house: House) -> None:
    await house.work()
    await house.rest()
    await house.store.close()
    house.store = house.another_store()
    await house.work()
    house.hook()
    await house.event()
    await house.over(delivered=1)


# A lease that ends.


@pytest.fixture
def one_of_many(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a server's database, where other workers may take what this one had."""
    monkeypatch.setattr(house.store.engine, "single_worker", False)


@embedded("one worker at a time, so that its lease need not end")
async def test_the_only_worker_keeps_its_lease_whatever_the_clock_does(house: House) -> None:
    gate = house.network.script = Gate(["h1.example"])
    hook_id = house.hook()
    worker = await house.work()
    (lease_id,) = house.store.look(held)
    await house.events(20)
    await until(lambda: house.network.in_flight["h1.example"] == 4)
    for seconds in (HOUR, 1000 * 24 * HOUR, -2000 * 24 * HOUR, 2000 * 24 * HOUR):
        house.clock.advance(seconds)
        await worker.poll()
        assert house.store.look(held) == [lease_id]
    gate.opened.set()
    await house.over(delivered=20)
    assert len(house.attempts(hook_id)) == 20, "nothing was sent twice"


async def test_a_lease_is_renewed(house: House, one_of_many: None) -> None:
    worker = await house.work()
    (lease_id,) = house.store.look(held)
    for _ in range(20):
        house.clock.advance(20)
        await worker.poll()
    assert house.store.look(held) == [lease_id]


async def test_a_lease_that_is_renewed_late_is_kept_where_nobody_ended_it(
    house: House, one_of_many: None
) -> None:
    gate = house.network.script = Gate(["h1.example"])
    house.hook()
    worker = await house.work()
    await house.events(50)
    await until(lambda: house.network.in_flight["h1.example"] == 4)
    house.clock.advance(HOUR)
    await worker.poll()
    assert house.store.look(held) == [1]
    gate.opened.set()
    await house.over(delivered=50)
    assert len(house.network.posts) == 50, "nothing was sent twice"


async def test_the_lease_is_renewed_while_a_poll_takes_long(
    house: House, one_of_many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await house.work()
    slow = Slow(house, deliveries.waiting_hooks, monkeypatch)
    polling = asyncio.create_task(worker.poll())
    await until(lambda: slow.begun)
    for _ in range(5):
        house.clock.advance(20)
        await worker.lease.renew()
        assert worker.dispatcher.leased.can_send
        assert not house.store.do(leases.release_expired)
    slow.over.set()
    await polling
    assert house.store.look(held) == [1]


async def test_after_the_clock_has_jumped_nothing_is_stuck(house: House, one_of_many: None) -> None:
    gate = house.network.script = Gate(["h1.example"])
    house.hook()
    worker = await house.work()
    (first,) = house.store.look(held)
    await house.events(50)
    await until(lambda: house.network.in_flight["h1.example"] == 4)
    house.clock.advance(HOUR)
    house.store.do(leases.release_expired)
    await worker.poll()
    (second,) = house.store.look(held)
    assert second != first
    assert worker.dispatcher.local.lease() == second
    await house.events(20)
    assert {row["lease_id"] for row in house.leased()} <= {second}
    gate.opened.set()
    await house.over(delivered=70)
    await until(lambda: worker.dispatcher.in_flight == 0)
    assert worker.dispatcher.queued == 0
    assert len({post.guid for post in house.network.posts}) == 70


async def test_jumps_while_it_works(house: House, one_of_many: None) -> None:
    for _ in range(3):
        house.hook()
    worker = await house.work()
    for _ in range(10):
        await house.events(10)
        house.clock.advance(HOUR)
        arriving = asyncio.gather(*(house.event() for _ in range(10)))
        await worker.poll()
        await arriving
    await house.over(delivered=600)
    assert not house.leased()


async def test_a_lease_that_another_worker_ended(house: House, one_of_many: None) -> None:
    # On a server's database others end it, while this one stands still and does not know.
    gate = house.network.script = Gate(["h1.example"])
    house.hook()
    worker = await house.work()
    await house.events(10)
    house.clock.advance(HOUR)
    house.store.do(leases.release_expired)
    await house.events(10)
    await worker.poll()
    gate.opened.set()
    await house.over(delivered=20)


async def test_a_lease_that_could_not_be_ended_at_once_is_ended_later(
    house: House, one_of_many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = house.network.script = Gate(["h1.example"])
    house.hook()
    worker = await house.work()
    await house.events(10)
    house.clock.advance(HOUR)

    def failing(*args: Any) -> int:
        raise Unavailable("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(leases, "release_expired", failing)
        with pytest.raises(Unavailable):
            await worker.poll()
    gate.opened.set()
    await worker.poll()
    await house.over(delivered=10)


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_a_worker_that_starts_after_an_outage_spares_those_who_live(house: House) -> None:
    gate = house.network.script = Gate(["h1.example"])
    house.hook()
    worker = await house.work()
    await house.events(3)
    await until(lambda: len(house.network.posts) == 3)
    house.clock.advance(HOUR)
    other = house.another_store()
    newcomer = Worker(other, WorkerSettings(), sender=house.network, tuning=Tuning())
    await newcomer.start()
    await newcomer.poll()
    assert len(house.leased()) == 3, "their owner may have seen the same outage"
    await worker.poll()
    gate.opened.set()
    await house.over(delivered=3)
    assert len(house.network.posts) == 3
    await newcomer.stop()
    await other.close()


# A worker that stands still past the end of its lease, and goes on.


class Slow:
    """A function that reads takes until `over` is set. Then it may fail."""

    def __init__(self, house: House, function: object, monkeypatch: pytest.MonkeyPatch) -> None:
        self.over = asyncio.Event()
        self.begun = 0
        self.error: Exception | None = None
        self._function, self._read = function, house.store.read
        monkeypatch.setattr(house.store, "read", self)

    async def __call__(self, function: Any, *given: Any) -> Any:
        found = await self._read(function, *given)
        if function is self._function:
            self.begun += 1
            await self.over.wait()
            if self.error is not None:
                raise self.error
        return found


TakeOver = Callable[[], list[int]]


@pytest.fixture
def take_over(house: House, one_of_many: None) -> Iterator[TakeOver]:
    """What another worker does: end what has expired, and take what is free."""
    taken: list[int] = []

    def take() -> list[int]:
        house.store.do(leases.release_expired)
        taken.append(house.store.do(leases.acquire, "other", 100 * HOUR * SECOND))
        claimed, _ = house.store.do(deliveries.claim, [1], taken[-1], 100)
        return [one.id for one in claimed]

    yield take
    for lease_id in taken:
        house.store.do(leases.release, lease_id)


async def test_what_was_about_to_be_sent_when_the_lease_ended_is_not_sent(
    house: House, take_over: TakeOver, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.hook()
    worker = await house.work()
    slow = Slow(house, load_target, monkeypatch)
    await house.event()
    await until(lambda: slow.begun)
    house.clock.advance(HOUR)
    assert len(take_over()) == 1
    slow.over.set()
    await until(lambda: worker.dispatcher.in_flight == 0)
    await worker.poll()
    await settle()
    assert house.network.posts == []
    assert worker.dispatcher.queued == 0


async def test_what_was_about_to_be_sent_is_not_sent_under_the_next_lease(
    house: House, take_over: TakeOver, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.hook()
    worker = await house.work()
    slow = Slow(house, load_target, monkeypatch)
    await house.event()
    await until(lambda: slow.begun)
    house.clock.advance(HOUR)
    assert len(take_over()) == 1
    await worker.poll()
    assert worker.dispatcher.leased.can_send
    slow.over.set()
    await until(lambda: worker.dispatcher.in_flight == 0)
    await settle()
    assert house.network.posts == []
    assert worker.dispatcher.queued == 0


async def test_what_the_store_could_not_give_is_not_sent_under_the_next_lease(
    house: House, take_over: TakeOver, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.hook()
    worker = await house.work()
    slow = Slow(house, load_target, monkeypatch)
    slow.error = Unavailable("gone for a moment")
    await house.event()
    await until(lambda: slow.begun)
    house.clock.advance(HOUR)
    assert len(take_over()) == 1
    await worker.poll()
    slow.over.set()
    await until(lambda: worker.dispatcher.in_flight == 0)
    await settle()
    assert worker.dispatcher.queued == 0
    assert house.network.posts == []


async def test_what_is_offered_under_a_lease_that_has_ended_is_left_to_others(
    house: House, take_over: TakeOver, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.hook()
    worker = await house.work()
    offered: list[Any] = []
    offer = worker.dispatcher.local.dispatch
    monkeypatch.setattr(worker.dispatcher.local, "dispatch", offered.extend)
    await house.event()
    assert len(offered) == 1
    house.clock.advance(HOUR)
    assert len(take_over()) == 1
    await worker.poll()
    offer(offered)
    await settle()
    assert house.network.posts == []
    assert worker.dispatcher.queued == 0


async def test_what_arrives_after_the_lease_ended_is_not_sent_again(
    house: House, one_of_many: None
) -> None:
    gate = house.network.script = Gate(["h1.example"])
    hook_id = house.hook()
    worker = await house.work()
    await house.events(4)
    await until(lambda: house.network.in_flight["h1.example"] == 4)
    house.clock.advance(HOUR)
    # Another has ended the lease, and has not taken anything yet.
    house.store.do(leases.release_expired)
    gate.opened.set()
    await house.over(delivered=4)
    await worker.poll()
    await settle()
    assert len(house.network.posts) == 4
    assert [row["number"] for row in house.attempts(hook_id)] == [1] * 4
    assert not house.leased()


async def test_what_another_has_in_hand_stays_its_own_when_a_late_outcome_comes(
    house: House, take_over: TakeOver
) -> None:
    gate = house.network.script = Gate(["h1.example"])
    hook_id = house.hook()
    await house.work()
    await house.events(4)
    await until(lambda: house.network.in_flight["h1.example"] == 4)
    house.clock.advance(HOUR)
    taken = take_over()
    gate.opened.set()
    await house.recorded(hook_id, 4)
    assert house.counts() == {"waiting": 4, "delivered": 0, "dead": 0, "filtered": 0}
    assert sorted(row["id"] for row in house.leased()) == sorted(taken)


async def test_the_clock_is_set_back(house: House, one_of_many: None) -> None:
    house.hook()
    worker = await house.work()
    await house.events(5)
    house.clock.advance(-HOUR)
    await house.events(5)
    await worker.poll()
    await house.over(delivered=10)
    house.clock.advance(HOUR)
    await worker.poll()
    await house.events(5)
    await house.over(delivered=15)
