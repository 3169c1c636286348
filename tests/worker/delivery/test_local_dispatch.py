"""How deliveries reach the worker: handed over at the commit, or through the store."""

import asyncio
import os
import socket
from typing import Any

import pytest
from engines import embedded
from house import Gate, House
from waiting import until

from store import Store
from store.database import notifications
from store.database.postgres import notify
from store.delivery import deliveries, events, outbox, replay_selection
from worker.delivery import target_cache
from worker.tuning import DEFAULTS, Tuning

MAX_QUEUE = DEFAULTS.max_queue


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The hooks of every claim that is made."""
    made: list[list[int]] = []
    claim = deliveries.claim

    def spied(db: Any, hook_ids: Any, lease_id: int, limit: int) -> Any:
        made.append(list(hook_ids))
        return claim(db, hook_ids, lease_id, limit)

    monkeypatch.setattr(deliveries, "claim", spied)
    return made


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The events that are read."""
    made: list[int] = []
    get = events.get

    def spied(db: Any, event_id: int) -> Any:
        made.append(event_id)
        return get(db, event_id)

    monkeypatch.setattr(events, "get", spied)
    return made


async def test_in_one_process_nothing_is_claimed_or_read(
    house: House, claims: list[list[int]], reads: list[int]
) -> None:
    for _ in range(3):
        house.hook()
    await house.work()
    for _ in range(5):
        await house.events(10)
    await house.over(delivered=150)
    assert claims == []
    assert reads == []


async def test_it_is_leased_from_the_first_moment(house: House) -> None:
    gate = house.network.script = Gate(["h1.example"])
    house.hook()
    await house.work()
    await house.event()
    assert len(house.leased()) == 1, "before the sender of the event has its answer"
    gate.opened.set()
    await house.over(delivered=1)
    assert not house.leased()


async def test_what_was_there_before_the_worker_is_claimed(
    house: House, claims: list[list[int]]
) -> None:
    hook_id = house.hook()
    await house.events(10)
    await house.work()
    await house.over(delivered=10)
    assert claims == [[hook_id]]


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_a_claim_outlasts_a_crash_where_others_may_claim_too(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that forgot it would give the same deliveries to two workers."""
    kept: list[str] = []
    claim = deliveries.claim

    def spied(db: Any, *given: Any) -> Any:
        kept.append(db.value("SHOW synchronous_commit"))
        return claim(db, *given)

    monkeypatch.setattr(deliveries, "claim", spied)
    house.hook()
    await house.events(10)
    await house.work()
    await house.over(delivered=10)
    assert kept == ["on"]


async def test_a_full_lane_goes_through_the_store(house: House, claims: list[list[int]]) -> None:
    gate = house.network.script = Gate(["h1.example"])
    hook_id = house.hook()
    worker = await house.work()
    await house.events(MAX_QUEUE + 50)
    assert hook_id in worker.dispatcher.local.full()
    in_hand = len(house.leased())
    await house.events(200)
    assert len(house.leased()) == in_hand
    assert house.counts()["waiting"] == MAX_QUEUE + 250
    assert claims == []
    gate.opened.set()
    await house.over(delivered=MAX_QUEUE + 250)
    assert claims
    assert worker.dispatcher.local.full() == ()
    claims.clear()
    await house.event()
    await house.over(delivered=MAX_QUEUE + 251)
    assert claims == [], "it takes new ones directly again"


async def test_only_the_full_lane_does(house: House, claims: list[list[int]]) -> None:
    gate = house.network.script = Gate(["h1.example"])
    full, other = house.hook(), house.hook()
    await house.work()
    for part in range(1, 7):
        # Few at a time: the other lane must not be full for a moment either.
        await house.events((MAX_QUEUE + 50) // 6)
        await until(
            lambda sent=part * ((MAX_QUEUE + 50) // 6): house.states(other)["delivered"] == sent
        )
    await house.events(20)
    await until(lambda: house.states(other) == {"delivered": MAX_QUEUE + 70})
    assert not [hooks for hooks in claims if other in hooks]
    gate.opened.set()
    await until(lambda: house.states(full) == {"delivered": MAX_QUEUE + 70})


async def test_beyond_what_memory_holds_it_goes_through_the_store(
    house: House, claims: list[list[int]]
) -> None:
    house.tuning = Tuning(max_buffered=30)
    gate = house.network.script = Gate(["h1.example", "h2.example"])
    for _ in range(2):
        house.hook()
    worker = await house.work()
    await house.events(50)
    assert worker.dispatcher.local.lease() is None
    leased = len(house.leased())
    await house.events(100)
    assert len(house.leased()) <= leased + 2 * 16
    gate.opened.set()
    await house.over(delivered=300)
    assert claims
    assert worker.dispatcher.local.lease() is not None
    assert worker.dispatcher.queued == 0


async def test_many_hooks_overflow_and_all_are_delivered(house: House) -> None:
    house.tuning = Tuning(max_buffered=20, max_queue=8, claim_batch=8)
    for _ in range(12):
        house.hook()
    await house.work()
    await asyncio.gather(*(house.events(25) for _ in range(4)))
    await house.over(delivered=1200)
    assert len(house.network.posts) == 1200


async def test_a_ping_and_a_redelivery_wake_the_worker(house: House) -> None:
    hook_id = house.hook()
    await house.work()
    receipt = await house.store.write(
        outbox.emit, "ping", None, house.repo["id"], {"zen": "x"}, only_hook=hook_id
    )
    await house.over(delivered=1)
    await house.store.write(deliveries.redeliver, receipt.event_id, hook_id, house.repo["id"])
    await house.over(delivered=2)


async def test_a_replay_wakes_the_worker(house: House) -> None:
    house.hook()
    await house.events(10)
    house.hook()
    await house.work()
    await house.over(delivered=10)
    chosen = replay_selection.ReplaySelection(since=0)
    many, newest = house.store.look(replay_selection.total, chosen)
    assert many == 20
    made, _ = house.store.do(replay_selection.create_deliveries, chosen, 0, newest, 100)
    assert made == 20
    await house.over(delivered=30)


# Another process.


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hooks that are read so that something can be sent to them."""
    made: list[int] = []
    load = target_cache.load_target

    def spied(db: Any, hook_id: int, *given: Any) -> Any:
        made.append(hook_id)
        return load(db, hook_id, *given)

    monkeypatch.setattr(target_cache, "load_target", spied)
    return made


@pytest.fixture
async def hub(house: House) -> Any:
    """The same database as a hub of another process has it."""
    store = house.another_store()
    yield store
    await store.close()


async def test_an_event_of_another_process_is_delivered_at_once(house: House, hub: Store) -> None:
    house.hook()
    await house.work()
    assert hub.notifier.lease() is None
    await house.events(1, hub)
    await house.over(delivered=1)


async def test_for_another_process_a_hook_is_read_again_only_when_it_was_edited(
    house: House, hub: Store, looks: list[int]
) -> None:
    hook_id = house.hook()
    await house.work()
    for number in range(1, 6):
        await house.events(1, hub)
        await house.over(delivered=number)
    assert looks == [hook_id]
    house.edit(hook_id, url="https://moved.example/hook")
    await house.events(1, hub)
    await house.over(delivered=6)
    assert looks == [hook_id, hook_id]
    assert len(house.network.to("moved.example")) == 1


async def test_many_events_of_another_process(house: House, hub: Store) -> None:
    for _ in range(5):
        house.hook()
    await house.work()
    for _ in range(4):
        await house.events(50, hub)
    await house.over(delivered=1000)


async def test_a_command_of_another_process(house: House, hub: Store) -> None:
    hook_id = house.hook()
    await house.work()
    hub.do(outbox.emit, "ping", None, house.repo["id"], {}, only_hook=hook_id)
    await house.over(delivered=1)


async def test_a_wake_up_for_more_hooks_than_fit(
    house: House, hub: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (notifications, notify):
        monkeypatch.setattr(module, "MOST_HOOKS", 3)
    for _ in range(6):
        house.hook()
    await house.work()
    await house.events(2, hub)
    await house.over(delivered=12)


async def test_nobody_listens_and_nothing_is_lost(house: House, hub: Store) -> None:
    house.hook()
    await house.events(3, hub)
    await house.work()
    await house.over(delivered=3)


async def test_a_lost_wake_up_is_made_up_by_looking(house: House, hub: Store) -> None:
    house.hook()
    worker = await house.work()
    hub.notifier.wake = lambda hooks: None  # type: ignore[method-assign]
    await house.events(3, hub)
    assert house.states() == {"waiting": 3}
    await worker.lease.scan()
    await house.over(delivered=3)


@embedded("a datagram socket that anything may write to")
@pytest.mark.parametrize(
    "junk", [b"", b"x", b"{}", b"[", b"[[]]", b'["a"]', b"7", b"null", b"[1e99]", os.urandom(200)]
)
async def test_junk_does_not_end_the_worker(house: House, hub: Store, junk: bytes) -> None:
    house.hook()
    await house.work()
    path = house.folder / "tocsin.worker.sock"
    assert path.is_socket()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(junk, str(path))
    await house.events(1, hub)
    await house.over(delivered=1)


async def test_waking_for_hooks_that_are_not_there(house: House, hub: Store) -> None:
    house.hook()
    worker = await house.work()
    hub.notifier.wake([404, 405])
    await house.events(1, hub)
    await house.over(delivered=1)
    await until(lambda: worker.dispatcher.in_flight == 0)
    await until(lambda: worker.dispatcher.claimer.idle)
    await worker.lease.scan()
    assert not worker.dispatcher.lanes


@embedded("wake-ups through a socket in the file system")
async def test_the_socket_goes_with_the_worker(house: House) -> None:
    await house.work()
    await house.rest()
    assert not (house.folder / "tocsin.worker.sock").exists()
