"""Workers that stop, crash or stand still: another worker delivers what they had claimed."""

import asyncio
import os
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from engines import embedded
from waiting import until
from worker_harness import Gate, WorkerHarness, said, settle

from store import Connection
from store.clock import SECOND
from store.delivery import deliveries, leases
from store.errors import Unavailable, Unusable
from worker import slices
from worker.delivery.target_loader import load_target
from worker.service import Worker
from worker.settings import WorkerSettings
from worker.tuning import Tuning

HOUR = 3600
# No test moves its clock this far, so the job that prunes removes nothing.
FOREVER = 36_500 * 24 * HOUR


def held(db: Connection) -> list[int]:
    """The ids of all leases of workers."""
    return [row["id"] for row in db.all("SELECT id FROM lease ORDER BY id")]


# Stopping.


async def test_stopping_finishes_deliveries_in_flight_and_returns_the_rest(
    harness: WorkerHarness,
) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    harness.hook()
    worker = await harness.work()
    await harness.events(30)
    await until(lambda: harness.network.in_flight["h1.example"] == 4)
    assert len(harness.leased()) == 30
    stopping = asyncio.create_task(harness.rest())
    await until(lambda: worker.dispatcher.leased.closed)
    await settle(10)
    assert not stopping.done()
    gate.opened.set()
    await stopping
    assert harness.counts() == {"waiting": 26, "delivered": 4, "dead": 0, "filtered": 0}
    assert not harness.leased()
    assert harness.store.read_sync(held) == []
    await harness.work()
    await harness.over(delivered=30)
    assert len(harness.network.posts) == 30


async def test_a_worker_sends_nothing_more_while_another_part_hangs_at_the_stop(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that stands still can record none of it, so all of it would be sent again."""
    gate = harness.network.script = Gate(["h1.example"])
    harness.hook()
    worker = await harness.work()
    await harness.events(30)
    await until(lambda: harness.network.in_flight["h1.example"] == 4)
    asked, answered = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        asked.set()
        await answered.wait()

    monkeypatch.setattr(worker.websub, "stop", hang)
    stopping = asyncio.create_task(harness.rest())
    await asked.wait()
    gate.opened.set()
    await until(lambda: harness.counts()["delivered"] == 4)
    await settle(10)
    assert len(harness.network.posts) == 4
    answered.set()
    await stopping
    assert harness.counts()["waiting"] == 26


async def test_the_grace_of_deliveries_begins_with_the_stop(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.tuning = Tuning(stop_grace=0.05)
    worker = await harness.work()
    loop, stop, given = asyncio.get_running_loop(), worker.dispatcher.stop, list[float]()

    async def hang() -> None:
        began = loop.time()
        await until(lambda: loop.time() > began + harness.tuning.stop_grace)

    async def noted(seconds: float) -> None:
        given.append(seconds)
        await stop(seconds)

    monkeypatch.setattr(worker.websub, "stop", hang)
    monkeypatch.setattr(worker.dispatcher, "stop", noted)
    await harness.rest()
    assert given == [0.0]


async def test_stopping_returns_a_hanging_delivery_after_the_grace(harness: WorkerHarness) -> None:
    assert harness.tuning.stop_grace == 10
    harness.tuning = Tuning(stop_grace=0.05)
    gate = harness.network.script = Gate(["h1.example"])
    hook_id = harness.hook()
    await harness.work()
    await harness.events(10)
    await until(lambda: harness.network.in_flight["h1.example"] == 4)
    await harness.rest()
    assert harness.network.in_flight["h1.example"] == 0
    assert harness.states(hook_id) == {"waiting": 10}
    assert harness.attempts(hook_id) == []
    gate.opened.set()
    await harness.work()
    await harness.over(delivered=10)


async def test_events_that_come_while_it_stops_wait(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    harness.hook()
    await harness.work()
    await harness.events(3)
    await until(lambda: harness.network.in_flight["h1.example"] == 3)
    arriving = asyncio.gather(*(harness.event() for _ in range(20)))
    stopping = asyncio.create_task(harness.rest())
    await arriving
    await harness.events(20)
    gate.opened.set()
    await stopping
    await harness.events(5)
    assert not harness.leased()
    await harness.work()
    await harness.over(delivered=48)


async def test_a_worker_without_work_stops_at_once(harness: WorkerHarness) -> None:
    await harness.work()
    await harness.rest()
    assert harness.store.read_sync(held) == []


async def test_restarts_lose_no_delivery(harness: WorkerHarness) -> None:
    harness.hook()
    for _ in range(5):
        await harness.work()
        await harness.events(5)
        await harness.rest()
    await harness.work()
    await harness.over(delivered=25)


# Crashing.


async def test_after_a_crash_everything_is_delivered(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["h1.example", "h2.example"])
    for _ in range(3):
        harness.hook()
    await harness.work()
    await harness.events(100)
    await until(lambda: len(harness.network.to("h3.example")) == 100)
    harness.crash()
    assert len(harness.leased()) >= 200
    gate.opened.set()
    await harness.work()
    await harness.over(delivered=300)
    sent = Counter((post.host, post.guid) for post in harness.network.posts)
    assert len(sent) == 300, "each delivery was sent at least once"
    assert harness.store.read_sync(held) == [2]


async def test_a_crash_before_the_outcome_is_recorded_sends_again(harness: WorkerHarness) -> None:
    harness.hook()
    await harness.work()
    await harness.event(guid="twice")
    await until(lambda: len(harness.network.posts) == 1)
    harness.crash()
    await harness.work()
    await harness.over(delivered=1)
    assert {post.guid for post in harness.network.posts} == {"twice"}


# The only worker of a database.


@embedded("one worker at a time; on a server there may be many")
async def test_a_second_worker_is_refused(harness: WorkerHarness) -> None:
    await harness.work()
    other = harness.another_store()
    second = Worker(other, WorkerSettings(), sender=harness.network)
    place = re.escape(f", as process {os.getpid()} on {socket.gethostname()}: stop it first")
    with pytest.raises(Unusable, match=f"another worker is running on this database{place}"):
        await second.start()
    await second.stop()
    await other.close()
    harness.hook()
    await harness.event()
    await harness.over(delivered=1)


async def test_when_the_first_has_ended_the_second_may_work(harness: WorkerHarness) -> None:
    await harness.work()
    await harness.rest()
    await harness.store.close()
    harness.store = harness.another_store()
    await harness.work()
    harness.hook()
    await harness.event()
    await harness.over(delivered=1)


# Leases that expire.


@pytest.fixture
def one_of_many(harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let leases expire as on a database server, where other workers may take deliveries over."""
    monkeypatch.setattr(harness.store.engine, "single_worker", False)


@embedded("one worker at a time, so that its lease need not end")
async def test_the_only_worker_keeps_its_lease_through_clock_jumps(
    harness: WorkerHarness,
) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    hook_id = harness.hook()
    worker = await harness.work(keep_attempts=FOREVER, keep_bodies=FOREVER)
    (lease_id,) = harness.store.read_sync(held)
    await harness.events(20)
    await until(lambda: harness.network.in_flight["h1.example"] == 4)
    for seconds in (HOUR, 1000 * 24 * HOUR, -2000 * 24 * HOUR, 2000 * 24 * HOUR):
        harness.clock.advance(seconds)
        await worker.poll()
        assert harness.store.read_sync(held) == [lease_id]
    gate.opened.set()
    await harness.over(delivered=20)
    assert len(harness.attempts(hook_id)) == 20, "nothing was sent twice"


async def test_a_lease_is_renewed(harness: WorkerHarness, one_of_many: None) -> None:
    worker = await harness.work()
    (lease_id,) = harness.store.read_sync(held)
    for _ in range(20):
        harness.clock.advance(20)
        await worker.poll()
    assert harness.store.read_sync(held) == [lease_id]


async def test_a_late_renewal_keeps_a_lease_that_was_not_ended(
    harness: WorkerHarness, one_of_many: None
) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    harness.hook()
    worker = await harness.work()
    await harness.events(50)
    await until(lambda: harness.network.in_flight["h1.example"] == 4)
    harness.clock.advance(HOUR)
    await worker.poll()
    assert harness.store.read_sync(held) == [1]
    gate.opened.set()
    await harness.over(delivered=50)
    assert len(harness.network.posts) == 50, "nothing was sent twice"


async def test_the_lease_is_renewed_while_a_poll_takes_long(
    harness: WorkerHarness, one_of_many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await harness.work()
    slow = Slow(harness, deliveries.waiting_hooks, monkeypatch)
    polling = asyncio.create_task(worker.poll())
    await until(lambda: slow.begun)
    for _ in range(5):
        harness.clock.advance(20)
        await worker.lease.renew()
        assert worker.dispatcher.leased.can_send
        assert not harness.store.write_sync(leases.release_expired)
    slow.over.set()
    await polling
    assert harness.store.read_sync(held) == [1]


async def test_after_the_clock_has_jumped_nothing_is_stuck(
    harness: WorkerHarness, one_of_many: None
) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    harness.hook()
    worker = await harness.work()
    (first,) = harness.store.read_sync(held)
    await harness.events(50)
    await until(lambda: harness.network.in_flight["h1.example"] == 4)
    harness.clock.advance(HOUR)
    harness.store.write_sync(leases.release_expired)
    await worker.poll()
    (second,) = harness.store.read_sync(held)
    assert second != first
    assert worker.dispatcher.local.lease() == second
    await harness.events(20)
    assert {row["lease_id"] for row in harness.leased()} <= {second}
    gate.opened.set()
    await harness.over(delivered=70)
    await until(lambda: worker.dispatcher.in_flight == 0)
    assert worker.dispatcher.queued == 0
    assert len({post.guid for post in harness.network.posts}) == 70


async def test_jumps_while_it_works(harness: WorkerHarness, one_of_many: None) -> None:
    for _ in range(3):
        harness.hook()
    worker = await harness.work()
    for _ in range(10):
        await harness.events(10)
        harness.clock.advance(HOUR)
        arriving = asyncio.gather(*(harness.event() for _ in range(10)))
        await worker.poll()
        await arriving
    await harness.over(delivered=600)
    assert not harness.leased()


async def test_a_lease_that_another_worker_ended_loses_no_delivery(
    harness: WorkerHarness, one_of_many: None
) -> None:
    # On a database server, another worker ends the lease while this worker stands still.
    gate = harness.network.script = Gate(["h1.example"])
    harness.hook()
    worker = await harness.work()
    await harness.events(10)
    harness.clock.advance(HOUR)
    harness.store.write_sync(leases.release_expired)
    await harness.events(10)
    await worker.poll()
    gate.opened.set()
    await harness.over(delivered=20)


async def test_a_lease_that_could_not_be_ended_at_once_is_ended_later(
    harness: WorkerHarness, one_of_many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    harness.hook()
    worker = await harness.work()
    await harness.events(10)
    harness.clock.advance(HOUR)

    def failing(*args: Any) -> int:
        raise Unavailable("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(leases, "release_expired", failing)
        with pytest.raises(Unavailable):
            await worker.poll()
    gate.opened.set()
    await worker.poll()
    await harness.over(delivered=10)


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_a_worker_that_starts_after_an_outage_spares_live_workers(
    harness: WorkerHarness,
) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    harness.hook()
    worker = await harness.work()
    await harness.events(3)
    await until(lambda: len(harness.network.posts) == 3)
    harness.clock.advance(HOUR)
    other = harness.another_store()
    newcomer = Worker(other, WorkerSettings(), sender=harness.network, tuning=Tuning())
    await newcomer.start()
    await newcomer.poll()
    assert len(harness.leased()) == 3, "their owner may still renew its lease"
    await worker.poll()
    gate.opened.set()
    await harness.over(delivered=3)
    assert len(harness.network.posts) == 3
    await newcomer.stop()
    await other.close()


# Workers that stand still until their lease has expired, and then continue.


class Slow:
    """Delay the results of one read function until `over` is set. Then raise `error`, if any."""

    def __init__(
        self, harness: WorkerHarness, function: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.over = asyncio.Event()
        self.begun = 0
        self.error: Exception | None = None
        self._function, self._read = function, harness.store.read
        monkeypatch.setattr(harness.store, "read", self)

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
def take_over(harness: WorkerHarness, one_of_many: None) -> Iterator[TakeOver]:
    """A function that ends expired leases and claims the hook's deliveries, as another worker does.

    It returns the ids of the claimed deliveries.
    """
    taken: list[int] = []

    def take() -> list[int]:
        harness.store.write_sync(leases.release_expired)
        taken.append(harness.store.write_sync(leases.acquire, "other", 100 * HOUR * SECOND))
        claimed, _ = harness.store.write_sync(deliveries.claim, [1], taken[-1], 100)
        return [one.id for one in claimed]

    yield take
    for lease_id in taken:
        harness.store.write_sync(leases.release, lease_id)


async def test_no_request_starts_after_the_lease_ended(
    harness: WorkerHarness, take_over: TakeOver, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.hook()
    worker = await harness.work()
    slow = Slow(harness, load_target, monkeypatch)
    await harness.event()
    await until(lambda: slow.begun)
    harness.clock.advance(HOUR)
    assert len(take_over()) == 1
    slow.over.set()
    await until(lambda: worker.dispatcher.in_flight == 0)
    await worker.poll()
    await settle()
    assert harness.network.posts == []
    assert worker.dispatcher.queued == 0


async def test_a_request_is_not_sent_under_the_next_lease(
    harness: WorkerHarness, take_over: TakeOver, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.hook()
    worker = await harness.work()
    slow = Slow(harness, load_target, monkeypatch)
    await harness.event()
    await until(lambda: slow.begun)
    harness.clock.advance(HOUR)
    assert len(take_over()) == 1
    await worker.poll()
    assert worker.dispatcher.leased.can_send
    slow.over.set()
    await until(lambda: worker.dispatcher.in_flight == 0)
    await settle()
    assert harness.network.posts == []
    assert worker.dispatcher.queued == 0


async def test_a_failed_read_is_not_sent_under_the_next_lease(
    harness: WorkerHarness, take_over: TakeOver, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.hook()
    worker = await harness.work()
    slow = Slow(harness, load_target, monkeypatch)
    slow.error = Unavailable("gone for a moment")
    await harness.event()
    await until(lambda: slow.begun)
    harness.clock.advance(HOUR)
    assert len(take_over()) == 1
    await worker.poll()
    slow.over.set()
    await until(lambda: worker.dispatcher.in_flight == 0)
    await settle()
    assert worker.dispatcher.queued == 0
    assert harness.network.posts == []


async def test_an_offer_under_an_ended_lease_is_ignored(
    harness: WorkerHarness, take_over: TakeOver, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.hook()
    worker = await harness.work()
    offered: list[Any] = []
    offer = worker.dispatcher.local.dispatch
    monkeypatch.setattr(worker.dispatcher.local, "dispatch", offered.extend)
    # The store reads the functions of its notifier only when it is set.
    harness.store.notifier = worker.dispatcher.local
    await harness.event()
    assert len(offered) == 1
    harness.clock.advance(HOUR)
    assert len(take_over()) == 1
    await worker.poll()
    offer(offered)
    await settle()
    assert harness.network.posts == []
    assert worker.dispatcher.queued == 0


async def test_an_answer_after_the_end_of_the_lease_is_recorded(
    harness: WorkerHarness, one_of_many: None
) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    hook_id = harness.hook()
    worker = await harness.work()
    await harness.events(4)
    await until(lambda: harness.network.in_flight["h1.example"] == 4)
    harness.clock.advance(HOUR)
    # Another worker has ended the lease, but has not claimed the deliveries yet.
    harness.store.write_sync(leases.release_expired)
    gate.opened.set()
    await harness.over(delivered=4)
    await worker.poll()
    await settle()
    assert len(harness.network.posts) == 4
    assert [row["number"] for row in harness.attempts(hook_id)] == [1] * 4
    await harness.all_returned()


async def test_a_late_outcome_leaves_another_worker_s_deliveries(
    harness: WorkerHarness, take_over: TakeOver
) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    hook_id = harness.hook()
    await harness.work()
    await harness.events(4)
    await until(lambda: harness.network.in_flight["h1.example"] == 4)
    harness.clock.advance(HOUR)
    taken = take_over()
    gate.opened.set()
    await harness.recorded(hook_id, 4)
    assert harness.counts() == {"waiting": 4, "delivered": 0, "dead": 0, "filtered": 0}
    assert sorted(row["id"] for row in harness.leased()) == sorted(taken)


async def test_the_clock_is_set_back(harness: WorkerHarness, one_of_many: None) -> None:
    harness.hook()
    worker = await harness.work()
    await harness.events(5)
    harness.clock.advance(-HOUR)
    await harness.events(5)
    await worker.poll()
    await harness.over(delivered=10)
    harness.clock.advance(HOUR)
    await worker.poll()
    await harness.events(5)
    await harness.over(delivered=15)


# Scanning for work.


@embedded("its reads run on the event loop, so only the slices let other work run")
async def test_other_work_runs_between_the_slices_of_a_scan(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.network.script = lambda post: said(500)
    for _ in range(6):
        harness.hook(options={"retries": [0, HOUR]})
    worker = await harness.work()
    await harness.event()
    await until(lambda: len(harness.network.posts) == 6)
    await harness.all_returned()
    monkeypatch.setattr(slices, "SLICE", 2)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await worker.lease.scan()
    counting.cancel()
    # The lanes, their versions, the waiting hooks and the idle lanes are each looked at in slices.
    assert turns >= 4 * 3
