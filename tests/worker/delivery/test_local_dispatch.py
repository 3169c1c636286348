"""How the worker gets deliveries: handed over at the commit, or claimed from the store."""

import asyncio
import os
import socket
from typing import Any

import pytest
from engines import embedded
from waiting import until
from worker_harness import Gate, WorkerHarness

from store import Store
from store.database import notifications
from store.database.postgres import notify
from store.delivery import deliveries, events, outbox
from store.delivery.replays import replay_deliveries, replay_selection
from worker.delivery import target_cache
from worker.tuning import DEFAULTS, Tuning

MAX_QUEUE = DEFAULTS.max_queue


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The hooks of each claim, in the order of the claims."""
    made: list[list[int]] = []
    claim = deliveries.claim

    def spied(db: Any, hook_ids: Any, lease_id: int, limit: int) -> Any:
        made.append(list(hook_ids))
        return claim(db, hook_ids, lease_id, limit)

    monkeypatch.setattr(deliveries, "claim", spied)
    return made


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The events that the worker reads from the store."""
    made: list[int] = []
    get = events.get

    def spied(db: Any, event_id: int) -> Any:
        made.append(event_id)
        return get(db, event_id)

    monkeypatch.setattr(events, "get", spied)
    return made


async def test_in_one_process_nothing_is_claimed_or_read(
    harness: WorkerHarness, claims: list[list[int]], reads: list[int]
) -> None:
    for _ in range(3):
        harness.hook()
    await harness.work()
    for _ in range(5):
        await harness.events(10)
    await harness.over(delivered=150)
    assert claims == []
    assert reads == []


async def test_a_delivery_is_leased_at_its_commit(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    harness.hook()
    await harness.work()
    await harness.event()
    assert len(harness.leased()) == 1, "the commit of the event leases its delivery"
    gate.opened.set()
    await harness.over(delivered=1)
    assert not harness.leased()


async def test_deliveries_from_before_the_start_are_claimed(
    harness: WorkerHarness, claims: list[list[int]]
) -> None:
    hook_id = harness.hook()
    await harness.events(10)
    await harness.work()
    await harness.over(delivered=10)
    assert claims == [[hook_id]]


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_a_claim_outlasts_a_crash_where_others_may_claim_too(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the database lost a claim, two workers would get the same deliveries."""
    kept: list[str] = []
    claim = deliveries.claim

    def spied(db: Any, *given: Any) -> Any:
        kept.append(db.value("SHOW synchronous_commit"))
        return claim(db, *given)

    monkeypatch.setattr(deliveries, "claim", spied)
    harness.hook()
    await harness.events(10)
    await harness.work()
    await harness.over(delivered=10)
    assert set(kept) == {"on"}


async def test_a_full_lane_goes_through_the_store(
    harness: WorkerHarness, claims: list[list[int]]
) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    hook_id = harness.hook()
    worker = await harness.work()
    await harness.events(MAX_QUEUE + 50)
    assert hook_id in worker.dispatcher.local.full()
    in_hand = len(harness.leased())
    await harness.events(200)
    assert len(harness.leased()) == in_hand
    assert harness.counts()["waiting"] == MAX_QUEUE + 250
    assert claims == []
    gate.opened.set()
    await harness.over(delivered=MAX_QUEUE + 250)
    assert claims
    assert not worker.dispatcher.local.full()
    claims.clear()
    await harness.event()
    await harness.over(delivered=MAX_QUEUE + 251)
    assert claims == [], "new deliveries are handed over again"


async def test_only_the_full_lane_goes_through_the_store(
    harness: WorkerHarness, claims: list[list[int]]
) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    full, other = harness.hook(), harness.hook()
    await harness.work()
    for part in range(1, 7):
        # The events come in parts, so that the other lane is never full.
        await harness.events((MAX_QUEUE + 50) // 6)
        await until(
            lambda sent=part * ((MAX_QUEUE + 50) // 6): harness.states(other)["delivered"] == sent
        )
    await harness.events(20)
    await until(lambda: harness.states(other) == {"delivered": MAX_QUEUE + 70})
    assert not [hooks for hooks in claims if other in hooks]
    gate.opened.set()
    await until(lambda: harness.states(full) == {"delivered": MAX_QUEUE + 70})


async def test_events_beyond_the_buffer_go_through_the_store(
    harness: WorkerHarness, claims: list[list[int]]
) -> None:
    harness.tuning = Tuning(max_buffered=30)
    gate = harness.network.script = Gate(["h1.example", "h2.example"])
    for _ in range(2):
        harness.hook()
    worker = await harness.work()
    await harness.events(50)
    assert worker.dispatcher.local.lease() is None
    leased = len(harness.leased())
    await harness.events(100)
    assert len(harness.leased()) <= leased + 2 * 16
    gate.opened.set()
    await harness.over(delivered=300)
    assert claims
    assert worker.dispatcher.local.lease() is not None
    assert worker.dispatcher.queued == 0


async def test_many_hooks_overflow_and_all_are_delivered(harness: WorkerHarness) -> None:
    harness.tuning = Tuning(max_buffered=20, max_queue=8, claim_batch=8)
    for _ in range(12):
        harness.hook()
    await harness.work()
    await asyncio.gather(*(harness.events(25) for _ in range(4)))
    await harness.over(delivered=1200)
    assert len(harness.network.posts) == 1200


async def test_the_first_requests_do_not_wait_until_memory_is_full(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks, total = 4, 40
    harness.tuning = Tuning(claim_total=total)
    claimed: list[int] = []
    claim = deliveries.claim

    def counted(*given: Any) -> Any:
        found = claim(*given)
        claimed.append(len(found[0]))
        return found

    monkeypatch.setattr(deliveries, "claim", counted)
    for _ in range(hooks):
        harness.hook()
    await harness.events(2 * total)
    await harness.work()
    await harness.over(delivered=hooks * 2 * total)
    assert claimed[0] == total
    assert max(claimed) <= total


async def test_a_ping_and_a_redelivery_wake_the_worker(harness: WorkerHarness) -> None:
    hook_id = harness.hook()
    await harness.work()
    receipt = await harness.store.write(
        outbox.emit, "ping", None, harness.repo["id"], {"zen": "x"}, only_hook=hook_id
    )
    await harness.over(delivered=1)
    await harness.store.write(deliveries.redeliver, receipt.event_id, hook_id, harness.repo["id"])
    await harness.over(delivered=2)


async def test_a_replay_wakes_the_worker(harness: WorkerHarness) -> None:
    harness.hook()
    await harness.events(10)
    harness.hook()
    await harness.work()
    await harness.over(delivered=10)
    chosen = replay_selection.ReplaySelection(since=0)
    many, newest = harness.store.read_sync(replay_selection.total, chosen)
    assert many == 20
    made, _ = harness.store.write_sync(replay_deliveries.create, chosen, 0, newest, 100)
    assert made == 20
    await harness.over(delivered=30)


# Events and commands of another process.


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hooks that the worker reads as targets of deliveries."""
    made: list[int] = []
    load = target_cache.load_target

    def spied(db: Any, hook_id: int, *given: Any) -> Any:
        made.append(hook_id)
        return load(db, hook_id, *given)

    monkeypatch.setattr(target_cache, "load_target", spied)
    return made


@pytest.fixture
async def hub(harness: WorkerHarness) -> Any:
    """A second connection to the database, as the hub in another process has it."""
    store = harness.another_store()
    yield store
    await store.close()


async def test_an_event_of_another_process_is_delivered_at_once(
    harness: WorkerHarness, hub: Store
) -> None:
    harness.hook()
    await harness.work()
    assert hub.notifier.lease() is None
    await harness.events(1, hub)
    await harness.over(delivered=1)


async def test_a_hook_is_read_once_for_another_process_until_it_is_edited(
    harness: WorkerHarness, hub: Store, looks: list[int]
) -> None:
    hook_id, other = harness.hook(), harness.hook(events=["star"])
    await harness.work()
    for number in range(1, 6):
        await harness.events(1, hub)
        await harness.over(delivered=number)
    assert looks == [hook_id]
    harness.edit(hook_id, url="https://moved.example/hook")
    # Notices arrive in order. So the notice of the edit is there before this event is delivered,
    # and not while the hook is read, which would be read again then.
    await hub.batch(events.accept, harness.arrival(name="star"), weight=1)
    await harness.over(delivered=6)
    await harness.events(1, hub)
    await harness.over(delivered=7)
    assert looks == [hook_id, other, hook_id]
    assert len(harness.network.to("moved.example")) == 1


async def test_many_events_of_another_process(harness: WorkerHarness, hub: Store) -> None:
    for _ in range(5):
        harness.hook()
    await harness.work()
    for _ in range(4):
        await harness.events(50, hub)
    await harness.over(delivered=1000)


async def test_a_command_of_another_process_wakes_the_worker(
    harness: WorkerHarness, hub: Store
) -> None:
    hook_id = harness.hook()
    await harness.work()
    hub.write_sync(outbox.emit, "ping", None, harness.repo["id"], {}, only_hook=hook_id)
    await harness.over(delivered=1)


async def test_a_wake_up_for_more_hooks_than_fit(
    harness: WorkerHarness, hub: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (notifications, notify):
        monkeypatch.setattr(module, "MOST_HOOKS", 3)
    for _ in range(6):
        harness.hook()
    await harness.work()
    await harness.events(2, hub)
    await harness.over(delivered=12)


async def test_events_without_a_worker_are_delivered_later(
    harness: WorkerHarness, hub: Store
) -> None:
    harness.hook()
    await harness.events(3, hub)
    await harness.work()
    await harness.over(delivered=3)


async def test_a_lost_wake_up_is_made_up_by_looking(harness: WorkerHarness, hub: Store) -> None:
    harness.hook()
    worker = await harness.work()
    hub.notifier.wake = lambda hooks: None  # type: ignore[method-assign]
    await harness.events(3, hub)
    assert harness.states() == {"waiting": 3}
    await worker.lease.scan()
    await harness.over(delivered=3)


@embedded("a datagram socket that anything may write to")
@pytest.mark.parametrize(
    "junk", [b"", b"x", b"{}", b"[", b"[[]]", b'["a"]', b"7", b"null", b"[1e99]", os.urandom(200)]
)
async def test_junk_does_not_end_the_worker(
    harness: WorkerHarness, hub: Store, junk: bytes
) -> None:
    harness.hook()
    await harness.work()
    path = harness.folder / "tocsin.worker.sock"
    assert path.is_socket()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(junk, str(path))
    await harness.events(1, hub)
    await harness.over(delivered=1)


async def test_waking_for_hooks_that_are_not_there(harness: WorkerHarness, hub: Store) -> None:
    harness.hook()
    worker = await harness.work()
    hub.notifier.wake([404, 405])
    await harness.events(1, hub)
    await harness.over(delivered=1)
    await until(lambda: worker.dispatcher.in_flight == 0)
    await until(lambda: worker.dispatcher.claimer.idle)
    await worker.lease.scan()
    assert not worker.dispatcher.lanes


@embedded("wake-ups through a socket in the file system")
async def test_the_socket_goes_with_the_worker(harness: WorkerHarness) -> None:
    await harness.work()
    await harness.rest()
    assert not (harness.folder / "tocsin.worker.sock").exists()
