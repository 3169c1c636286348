"""Batches of ordered hooks: each has consecutive deliveries of one key, in their order."""

from typing import Any

import orjson
import pytest
from waiting import until
from worker_harness import Gate, Post, WorkerHarness, said, settle

from store.delivery import deliveries
from worker.http.answer import ExchangeResult

BY_KEY = {"ordering": {"path": "/key"}, "batch": {"max_events": 4, "max_wait": 0}}
BY_HOOK = BY_KEY | {"ordering": "hook"}


def steps(post: Post) -> list[int]:
    return [one["payload"]["step"] for one in orjson.loads(post.body)]


def key_of(post: Post) -> Any:
    return orjson.loads(post.body)[0]["payload"]["key"]


def all_steps(harness: WorkerHarness) -> list[list[int]]:
    return [steps(post) for post in harness.network.posts]


async def arrive(harness: WorkerHarness, *wanted: int, key: int = 1) -> list[str]:
    """Create an event with this key for each step. Return their ids."""
    bodies = [orjson.dumps({"key": key, "step": step}) for step in wanted]
    return [(await harness.event(body)).guid for body in bodies]


async def test_deliveries_of_a_key_go_together_in_their_order(harness: WorkerHarness) -> None:
    hook_id = harness.hook(options=BY_HOOK)
    await arrive(harness, *range(10))
    await harness.work()
    await harness.over(delivered=10)
    assert all_steps(harness) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    sequences = [post.headers["webhook-sequence"] for post in harness.network.posts]
    assert sequences == ["1, 2, 3, 4", "5, 6, 7, 8", "9, 10"]
    assert len(harness.attempts(hook_id)) == 10
    assert not harness.leased()


async def test_each_key_has_batches_of_its_own(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["slow.example"])
    harness.hook("https://slow.example/hook", options=BY_KEY)
    for step in range(3):
        for key in (1, 2):
            await arrive(harness, step, key=key)
    await harness.work()
    await until(lambda: len(harness.network.posts) == 2)
    await settle()
    assert all_steps(harness) == [[0, 1, 2], [0, 1, 2]]
    assert {post.headers["webhook-ordering-key"] for post in harness.network.posts} == {"1", "2"}
    gate.opened.set()
    await harness.over(delivered=6)


async def test_a_batch_that_fails_keeps_its_order(harness: WorkerHarness) -> None:
    answers = [said(500), said(500), said()]
    harness.network.script = lambda _: answers.pop(0) if answers else said()
    hook_id = harness.hook(options=BY_HOOK | {"retries": [0, 10, 10]})
    await arrive(harness, 0, 1, 2)
    await harness.work(jitter=0.5)
    await harness.recorded(hook_id, 3)
    await arrive(harness, 3, 4)
    for attempts in (3, 7):
        await harness.recorded(hook_id, attempts)
        await harness.pass_time(16)
    await harness.over(delivered=5)
    assert all_steps(harness) == [[0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], [4]]


@pytest.mark.parametrize("failing", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
async def test_only_named_events_go_again_before_the_next(
    harness: WorkerHarness, failing: tuple[int, ...]
) -> None:
    hook_id = harness.hook(options=BY_HOOK | {"retries": [0, 10]})
    guids = await arrive(harness, 0, 1, 2)
    answers = [said(body=orjson.dumps({"failed": [guids[step] for step in failing]}))]
    harness.network.script = lambda _: answers.pop(0) if answers else said()
    await harness.work()
    await harness.recorded(hook_id, 3)
    await arrive(harness, 3)
    await settle()
    assert all_steps(harness) == [[0, 1, 2]], "the next delivery waits for the failed ones"
    await harness.pass_time(11)
    await harness.over(delivered=4)
    assert all_steps(harness) == [[0, 1, 2], [*failing, 3]]


async def test_dead_deliveries_of_a_batch_leave_a_gap(harness: WorkerHarness) -> None:
    hook_id = harness.hook(options=BY_HOOK | {"retries": [0]})
    guids = await arrive(harness, 0, 1, 2, 3)
    answers = [said(500)]
    harness.network.script = lambda _: answers.pop(0) if answers else said()
    await harness.work()
    await harness.recorded(hook_id, 4)
    await arrive(harness, 4)
    await harness.over(dead=4, delivered=1)
    gap = harness.network.posts[1].headers["webhook-gap"]
    assert gap.split(", ") == guids


async def test_a_redelivery_goes_alone(harness: WorkerHarness) -> None:
    hook_id = harness.hook(options=BY_HOOK)
    await arrive(harness, 0)
    await harness.work()
    await harness.over(delivered=1)
    await harness.rest()
    (row,) = harness.deliveries()
    await arrive(harness, 1, 2)
    harness.store.write_sync(deliveries.redeliver, row["event_id"], hook_id, harness.repo["id"])
    await harness.work()
    await harness.over(delivered=4)
    assert sorted(all_steps(harness)) == [[0], [0], [1, 2]]


async def test_bytes_limit_an_ordered_batch(harness: WorkerHarness) -> None:
    limits = {"max_events": 10, "max_bytes": 1000, "max_wait": 0}
    harness.hook(options=BY_HOOK | {"batch": limits})
    for step in range(5):
        await harness.event(orjson.dumps({"key": 1, "step": step, "long": "x" * 300}))
    await harness.work()
    await harness.over(delivered=5)
    assert all_steps(harness) == [[0, 1], [2, 3], [4]]


async def test_an_ordered_batch_is_halved(harness: WorkerHarness) -> None:
    def script(post: Post) -> ExchangeResult:
        return said(413 if len(steps(post)) > 2 else 200)

    harness.network.script = script
    harness.hook(options=BY_HOOK | {"retries": [0]})
    await arrive(harness, *range(6))
    await harness.work()
    await harness.over(delivered=6)
    accepted = [post for post in harness.network.posts if len(steps(post)) <= 2]
    assert [step for post in accepted for step in steps(post)] == [*range(6)]


async def test_an_ordered_batch_waits_for_more(harness: WorkerHarness) -> None:
    limits = {"max_events": 10, "max_wait": 0.01}
    harness.hook(options=BY_HOOK | {"batch": limits})
    await harness.work()
    await arrive(harness, 0, 1, 2)
    await settle()
    assert not harness.network.posts
    harness.clock.advance(0.02)
    await harness.over(delivered=3)
    assert all_steps(harness) == [[0, 1, 2]]


async def test_a_crash_during_an_ordered_batch_loses_nothing(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["slow.example"])
    harness.hook("https://slow.example/hook", options=BY_HOOK)
    await arrive(harness, *range(6))
    await harness.work()
    await until(lambda: len(harness.network.posts) == 1)
    harness.crash()
    gate.opened.set()
    await harness.work()
    if not harness.store.engine.single_worker:
        # Other workers wait this long, because a request of the crashed worker may be in flight.
        await harness.pass_time(121)
    await harness.over(delivered=6)
    assert all_steps(harness) == [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5]]


async def test_held_batches_stay_in_order(
    harness: WorkerHarness,
) -> None:
    harness.hook("https://busy.example/hook", options=BY_HOOK)
    gate = harness.network.script = Gate(["first.example"])
    harness.hook("https://first.example/hook", options=BY_HOOK)
    harness.network.addresses = {"busy.example": "192.0.2.1", "first.example": "192.0.2.1"}
    await harness.work(max_in_flight_per_host=1)
    await arrive(harness, *range(3))
    await settle()
    gate.opened.set()
    await harness.over(delivered=6)
    for host in ("busy.example", "first.example"):
        sent = [step for post in harness.network.to(host) for step in steps(post)]
        assert sent == [0, 1, 2]
