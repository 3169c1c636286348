"""Ordered hooks: the deliveries of a key are sent one at a time, and delay no other key."""

import asyncio
import json
from collections import Counter, defaultdict
from typing import Any

import pytest
from receivers import LOOPBACK
from waiting import until
from worker_harness import Gate, Post, WorkerHarness, said, settle

from store import Connection
from store.delivery import deliveries, events, hook_removal, outbox
from store.delivery.replays import replay_deliveries
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import Conflict
from store.hooks import hooks
from store.ordering import operations
from worker.http.answer import ExchangeResult
from worker.jobs.prune import prune
from worker.service import Worker
from worker.settings import WorkerSettings

BY_NUMBER = {"ordering": {"path": "/pull_request/id"}}


def body(number: int | str | None, **more: Any) -> bytes:
    part = {} if number is None else {"pull_request": {"id": number}}
    return json.dumps(part | more).encode()


def key_of(post: Post) -> Any:
    return json.loads(post.body).get("pull_request", {}).get("id")


def step_of(post: Post) -> Any:
    return json.loads(post.body)["step"]


class Receiver:
    """A script with the statuses of each key. The test fails if two requests of a key overlap."""

    def __init__(self, answers: dict[Any, list[int]] | None = None) -> None:
        self.answers = answers or {}
        self.in_flight: Counter[Any] = Counter()
        self.steps: dict[Any, list[int]] = defaultdict(list)

    async def __call__(self, post: Post) -> ExchangeResult:
        key = key_of(post)
        self.in_flight[key] += 1
        assert self.in_flight[key] == 1, "two requests of a key overlap"
        await asyncio.sleep(0)
        waiting = self.answers.get(key)
        status = waiting.pop(0) if waiting else 200
        if status == 200:
            self.steps[key].append(step_of(post))
        self.in_flight[key] -= 1
        return said(status)


async def test_each_key_is_sent_in_order(harness: WorkerHarness) -> None:
    receiver = harness.network.script = Receiver()
    hook_id = harness.hook(options=BY_NUMBER)
    await harness.work()
    for step in range(20):
        for key in range(5):
            await harness.event(body(key, step=step))
    await harness.over(delivered=100)
    assert receiver.steps == {key: [*range(20)] for key in range(5)}
    sequences = [int(post.headers["webhook-sequence"]) for post in harness.network.posts]
    assert sorted(sequences) == [*range(1, 101)]
    assert {post.headers["webhook-ordering-key"] for post in harness.network.posts} == set("01234")
    assert harness.states(hook_id) == {"delivered": 100}


async def test_a_filtered_event_takes_no_place_in_the_order(harness: WorkerHarness) -> None:
    receiver = harness.network.script = Receiver()
    even = {"payload": {"even": True}}
    hook_id = harness.hook(options=BY_NUMBER | {"filter": even})
    await harness.work()
    for step in range(6):
        await harness.event(body(1, step=step, even=step % 2 == 0))
    await harness.over(delivered=3, filtered=3)
    assert receiver.steps == {1: [0, 2, 4]}
    assert [post.headers["webhook-sequence"] for post in harness.network.posts] == ["1", "2", "3"]
    assert harness.states(hook_id) == {"delivered": 3, "filtered": 3}


async def test_different_keys_are_in_flight_together(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["slow.example"])
    harness.hook("https://slow.example/hook", options=BY_NUMBER)
    await harness.work()
    for key in (1, 2, 3, 1, 1):
        await harness.event(body(key))
    await until(lambda: len(harness.network.posts) == 3)
    await settle()
    assert len(harness.network.posts) == 3, "the other deliveries of key 1 wait"
    gate.opened.set()
    await harness.over(delivered=5)


async def test_a_failing_key_blocks_only_itself(harness: WorkerHarness) -> None:
    receiver = harness.network.script = Receiver({1: [500] * 3})
    harness.hook(options=BY_NUMBER | {"retries": [0, 10, 10, 10], "breaker": 2})
    await harness.work()
    for step in range(3):
        for key in (1, 2):
            await harness.event(body(key, step=step))
    await harness.over(delivered=3, waiting=3)
    for _ in range(3):
        await harness.pass_time(11)
        await settle(5)
        await harness.event(body(2, step=9))
        await until(lambda: not harness.worker.dispatcher.in_flight)
    await harness.over(delivered=9)
    assert receiver.steps[1] == [0, 1, 2]


async def test_the_next_request_after_a_death_names_the_gap(harness: WorkerHarness) -> None:
    receiver = harness.network.script = Receiver({7: [500, 500, 500]})
    harness.hook(options=BY_NUMBER | {"retries": [0]})
    await harness.work()
    lost = [(await harness.event(body(7, step=step))).guid for step in range(2)]
    await harness.over(dead=2)
    for step in (2, 3, 4):
        await harness.event(body(7, step=step))
    await harness.over(dead=3, delivered=2)
    gaps = [post.headers.get("webhook-gap") for post in harness.network.posts]
    third = harness.network.posts[2].guid
    every = [None, lost[0], ", ".join(lost), ", ".join([*lost, third]), None]
    assert gaps == every, "a gap is named until a later delivery succeeds"
    assert receiver.steps[7] == [3, 4]


async def test_a_key_that_blocks_waits_for_an_operator(harness: WorkerHarness) -> None:
    receiver = harness.network.script = Receiver({1: [500]})
    hook_id = harness.hook(options=BY_NUMBER | {"on_exhausted": "block", "retries": [0]})
    await harness.work()
    for step in range(3):
        await harness.event(body(1, step=step))
        await harness.event(body(2, step=step))
    await harness.over(delivered=3, dead=1, waiting=2)
    (key,) = harness.store.read_sync(operations.keys, hook_id, 10)
    assert (key["key"], key["behind"]) == ("1", 2)
    assert key["blocked_at"] is not None
    harness.store.write_sync(operations.skip, hook_id, "1")
    harness.worker.wake([hook_id])
    await harness.over(delivered=5, dead=1)
    assert receiver.steps[1] == [1, 2]
    assert harness.network.posts[-2].headers["webhook-gap"] == harness.network.posts[0].guid


async def test_a_redelivery_frees_the_key_that_it_blocked(harness: WorkerHarness) -> None:
    receiver = harness.network.script = Receiver({1: [500]})
    hook_id = harness.hook(options=BY_NUMBER | {"on_exhausted": "block", "retries": [0]})
    await harness.work()
    first = await harness.event(body(1, step=0))
    await harness.event(body(1, step=1))
    await harness.over(dead=1, waiting=1)
    harness.store.write_sync(deliveries.redeliver, first.event_id, hook_id, harness.repo["id"])
    harness.worker.wake([hook_id])
    await harness.over(dead=1, delivered=2)
    assert receiver.steps[1] == [0, 1]
    again, after = (post.headers for post in harness.network.posts[1:])
    assert (again["webhook-redelivery"], again["webhook-sequence"]) == ("true", "1")
    assert "webhook-gap" not in after, "the redelivery closed the gap"


async def test_a_redelivery_waits_for_the_request_in_flight(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["slow.example"])
    hook_id = harness.hook("https://slow.example/hook", options={"ordering": "hook"})
    await harness.work()
    first = await harness.event(b"{}")
    await until(lambda: harness.network.posts)
    harness.store.write_sync(deliveries.redeliver, first.event_id, hook_id, harness.repo["id"])
    harness.worker.wake([hook_id])
    await settle()
    assert len(harness.network.posts) == 1
    gate.opened.set()
    await harness.over(delivered=2)


async def test_a_failing_redelivery_does_not_hold_the_key(harness: WorkerHarness) -> None:
    receiver = harness.network.script = Receiver({1: [200, 500, 200, 200]})
    hook_id = harness.hook(options=BY_NUMBER | {"retries": [0, 60]})
    await harness.work()
    first = await harness.event(body(1, step=0))
    await harness.over(delivered=1)
    harness.store.write_sync(deliveries.redeliver, first.event_id, hook_id, harness.repo["id"])
    harness.worker.wake([hook_id])
    await harness.recorded(hook_id, 2)
    await harness.event(body(1, step=1))
    await harness.over(delivered=2, waiting=1)
    await harness.pass_time(70)
    await harness.over(delivered=3)
    assert receiver.steps[1] == [0, 1, 0]


async def test_a_delivery_dies_when_others_have_waited_for_long(harness: WorkerHarness) -> None:
    receiver = harness.network.script = Receiver({1: [500] * 4})
    hook_id = harness.hook(options=BY_NUMBER | {"retries": [0, 60, 60, 600], "max_block": 150})
    await harness.work()
    await harness.event(body(1, step=0))
    await harness.event(body(1, step=1))
    for number, seconds in enumerate((60, 60, 30), 1):
        await harness.recorded(hook_id, number)
        await harness.pass_time(seconds)
    await harness.over(dead=1, delivered=1)
    assert receiver.steps[1] == [1]
    begun = [row["started_at"] for row in harness.attempts(hook_id)]
    assert begun[3] - begun[0] == 150_000_000, "the last attempt is made at the limit"


async def test_payloads_without_a_key_are_ordered_together(harness: WorkerHarness) -> None:
    hook_id = harness.hook(options=BY_NUMBER)
    await harness.work()
    for value in (None, [1], {"a": 1}):
        await harness.event(json.dumps({"pull_request": {"id": value}}).encode())
    await harness.event(b"{}")
    await harness.over(delivered=4)
    overview = harness.store.read_sync(operations.overview, hook_id)
    assert overview == {
        "ordering": "/pull_request/id",
        "sequence": 4,
        "keyless": 4,
        "blocked": 0,
        "draining": False,
    }
    assert all("webhook-ordering-key" not in post.headers for post in harness.network.posts)


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("main", "main"),
        (True, "true"),
        (1.5, "1.5"),
        ("a b%\r\n\0ü", "a%20b%25%0D%0A%EF%BF%BD%C3%BC"),
        ("é" * 200, "%C3%A9" * 128),
    ],
)
async def test_keys_are_text(harness: WorkerHarness, value: Any, sent: str) -> None:
    harness.hook(options=BY_NUMBER)
    await harness.work()
    await harness.event(body(value))
    await harness.over(delivered=1)
    assert harness.network.posts[0].headers["webhook-ordering-key"] == sent


async def test_a_disabled_hook_keeps_its_waiting_deliveries(harness: WorkerHarness) -> None:
    receiver = harness.network.script = Receiver({1: [410]})
    hook_id = harness.hook(options=BY_NUMBER)
    for step in range(4):
        await harness.event(body(1, step=step))
    await harness.work()
    await harness.over(dead=1, waiting=3)
    await settle()
    harness.edit(hook_id, active=True)
    harness.worker.wake([hook_id])
    await harness.over(dead=1, delivered=3)
    assert receiver.steps[1] == [1, 2, 3]


async def test_deliveries_of_a_deleted_hook_are_marked_dead(harness: WorkerHarness) -> None:
    hook_id = harness.hook(options=BY_NUMBER)
    for step in range(3):
        await harness.event(body(1, step=step))
    harness.store.write_sync(lambda db: hook_removal.delete(db, hooks.by_id(db, hook_id)))
    await harness.work()
    await harness.over(dead=3)


BLOCKING = BY_NUMBER | {"on_exhausted": "block", "retries": [0]}


async def test_deliveries_behind_a_blocked_key_end_with_their_hook(harness: WorkerHarness) -> None:
    harness.network.script = Receiver({1: [500]})
    hook_id = harness.hook(options=BLOCKING)
    await harness.work()
    for step in range(3):
        await harness.event(body(1, step=step))
    await harness.over(dead=1, waiting=2)

    def delete(db: Connection) -> None:
        outbox.emit(db, "meta", "deleted", harness.repo["id"], {"step": 9}, only_hook=hook_id)
        hook_removal.delete(db, hooks.by_id(db, hook_id))

    harness.store.write_sync(delete)
    await harness.over(dead=3, delivered=1)
    assert harness.network.posts[-1].headers["x-github-event"] == "meta"
    assert blocked(harness) == []


def blocked(harness: WorkerHarness) -> list[Any]:
    sql = "SELECT key FROM ordering_key WHERE blocked_at IS NOT NULL"
    return harness.store.read_sync(lambda db: db.tuples(sql))


async def test_a_request_in_flight_at_the_deletion_blocks_no_key(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["slow.example"], lambda: said(500))
    hook_id = harness.hook("https://slow.example/hook", options=BLOCKING)
    await harness.work()
    for step in range(3):
        await harness.event(body(1, step=step))
    await until(lambda: harness.network.posts)
    harness.store.write_sync(lambda db: hook_removal.delete(db, hooks.by_id(db, hook_id)))
    gate.opened.set()
    await harness.over(dead=3)
    assert blocked(harness) == []


@pytest.mark.parametrize("row", ["stays", "goes"])
async def test_pruning_ends_deliveries_of_removed_hooks(harness: WorkerHarness, row: str) -> None:
    harness.network.script = Receiver({1: [500]})
    hook_id = harness.hook(options=BLOCKING)
    await harness.work()
    for step in range(4):
        await harness.event(body(1, step=step))
    await harness.over(dead=1, waiting=3)
    removed = {"stays": "UPDATE hook SET deleted_at = 1, version = 9", "goes": "DELETE FROM hook"}
    harness.store.write_sync(lambda db: db.execute(f"{removed[row]} WHERE id = :id", id=hook_id))
    await prune(harness.store, WorkerSettings(), batch=2, pause=0)
    await harness.over(dead=4)
    assert blocked(harness) == []


async def test_one_batch_frees_a_limited_number_of_keys(harness: WorkerHarness) -> None:
    harness.network.script = lambda post: said(500)
    for _ in range(2):
        harness.hook(options=BLOCKING)
    await harness.work()
    for number in (1, 2, 3, 1, 2, 3):
        await harness.event(body(number))
    await harness.over(dead=6, waiting=6)
    sql = "UPDATE hook SET deleted_at = 1, version = 9"
    harness.store.write_sync(lambda db: db.execute(sql))
    for freed, left in ((4, 2), (2, 0), (0, 0)):
        assert harness.store.write_sync(hook_removal.end_stranded, 1, 4) == freed
        assert len(blocked(harness)) == left
    await harness.pass_time(5)
    await harness.over(dead=12)


async def test_a_changed_ordering_waits_for_the_old_keys(harness: WorkerHarness) -> None:
    receiver = harness.network.script = Receiver({1: [500]})
    hook_id = harness.hook(options=BY_NUMBER | {"retries": [0, 60]})
    await harness.work()
    await harness.event(body(1, step=0))
    await harness.recorded(hook_id, 1)
    harness.edit(hook_id, options={})
    for step in (1, 2):
        await harness.event(body(step, step=step))
    await settle()
    assert len(harness.network.posts) == 1, "the old key still has a waiting delivery"
    await harness.pass_time(60)
    await harness.over(delivered=3)
    assert receiver.steps[1] == [0, 1]
    await harness.event(body(1, step=3))
    await harness.over(delivered=4)
    assert "webhook-sequence" not in harness.network.posts[-1].headers


async def test_a_replay_keeps_the_order_of_its_events(harness: WorkerHarness) -> None:
    receiver = harness.network.script = Receiver()
    harness.hook(options=BY_NUMBER)
    receipts = [await harness.event(body(1, step=step)) for step in range(6)]
    await harness.work()
    await harness.over(delivered=6)
    last = receipts[-1].event_id
    chosen = ReplaySelection(repo_id=harness.repo["id"])
    harness.store.write_sync(replay_deliveries.create, chosen, 0, last, 100)
    await harness.over(delivered=12)
    assert receiver.steps[1] == [*range(6), *range(6)]
    assert [post.headers["webhook-sequence"] for post in harness.network.posts[6:]] == [
        str(number) for number in range(7, 13)
    ]


async def test_a_crash_does_not_change_the_order(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["slow.example"])
    harness.hook("https://slow.example/hook", options=BY_NUMBER)
    await harness.work()
    for step in range(3):
        await harness.event(body(1, step=step))
    await until(lambda: harness.network.posts)
    harness.crash()
    gate.opened.set()
    receiver = harness.network.script = Receiver()
    await harness.work()
    if not harness.store.engine.single_worker:
        # A request of the crashed worker might still be in flight.
        await settle()
        assert not receiver.steps
        await harness.pass_time(120)
    await harness.over(delivered=3)
    assert receiver.steps[1] == [0, 1, 2]


async def test_a_request_in_flight_cannot_be_skipped(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["slow.example"])
    hook_id = harness.hook("https://slow.example/hook", options=BY_NUMBER)
    await harness.work()
    await harness.event(body(1))
    await harness.event(body(1))
    await until(lambda: harness.network.posts)
    with pytest.raises(Conflict, match="in flight"):
        harness.store.write_sync(operations.skip, hook_id, "1")
    assert harness.store.write_sync(operations.discard, hook_id, "1") == 1
    gate.opened.set()
    await harness.over(delivered=1, dead=1)


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_two_workers_and_two_hubs_keep_the_order(harness: WorkerHarness) -> None:
    numbers: dict[str, list[int]] = defaultdict(list)
    busy: Counter[str] = Counter()

    async def script(post: Post) -> ExchangeResult:
        key = post.headers["webhook-ordering-key"]
        busy[key] += 1
        assert busy[key] == 1, "two requests of a key overlap"
        await asyncio.sleep(0)
        first = key == "3" and len(numbers[key]) % 2 == 0
        numbers[key].append(int(post.headers["webhook-sequence"]))
        busy[key] -= 1
        return said(500 if first else 200)

    harness.network.script = script
    harness.hook(options=BY_NUMBER | {"retries": [0, 0]})
    await harness.work()
    store = harness.another_store()
    chosen = WorkerSettings.model_validate({"allow_networks": LOOPBACK, "jitter": 0})
    other = Worker(store, chosen, sender=harness.network, tuning=harness.tuning)
    await other.start()
    try:
        arrivals = [harness.arrival(body(at % 5)) for at in range(150)]
        await asyncio.gather(
            *(
                (harness.store, store)[at % 2].batch(events.accept, arrival)
                for at, arrival in enumerate(arrivals)
            )
        )
        await harness.over(delivered=150)
    finally:
        await other.stop()
        await store.close()
    for key, sent in numbers.items():
        assert sent == sorted(sent), "a later delivery was sent first"
        assert len(sent) == (60 if key == "3" else 30)
