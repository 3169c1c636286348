"""Recording of outcomes: at once if no other write is under way, otherwise in groups."""

import asyncio
import threading
from collections.abc import Sequence

import pytest
from waiting import until
from worker_harness import Gate, WorkerHarness, said, settle

from store import Connection
from store.delivery.outcomes import attempt_outcomes
from store.delivery.outcomes.outcome import Outcome
from store.errors import Damaged


async def turns(many: int = 20) -> None:
    """Let the event loop make this many passes, without waiting for time to pass."""
    for _ in range(many):
        await asyncio.sleep(0)


async def written(harness: WorkerHarness) -> None:
    """Wait until the writer has committed all writes that it was given before."""
    await harness.store.write_relaxed(lambda db: None)


async def test_after_a_crash_nothing_is_sent_again_that_was_answered(
    harness: WorkerHarness,
) -> None:
    gate = harness.network.script = Gate(["h2.example"])
    harness.hook()
    harness.hook()
    await harness.work()
    await harness.event()
    await until(lambda: len(harness.network.posts) == 2)
    await until(lambda: not harness.network.in_flight["h1.example"])
    await turns()
    await written(harness)
    harness.crash()
    gate.opened.set()
    await harness.work()
    await harness.over(delivered=2)
    assert len(harness.network.to("h1.example")) == 1
    assert len(harness.network.to("h2.example")) == 2, "the first request had no answer"


async def test_outcomes_that_come_during_a_write_make_one_group(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[int] = []
    record = attempt_outcomes.record

    def counted(db: Connection, outcomes: Sequence[Outcome]) -> set[int]:
        groups.append(len(outcomes))
        return record(db, outcomes)

    monkeypatch.setattr(attempt_outcomes, "record", counted)
    hosts = [f"h{number}.example" for number in range(1, 7)]
    gates = {host: Gate([host]) for host in hosts}
    harness.network.script = lambda post: gates[post.host](post)
    for _ in hosts:
        harness.hook()
    await harness.work()
    await harness.event()
    await until(lambda: harness.network.in_flight[""] == len(hosts))
    ended = threading.Event()
    held = asyncio.create_task(harness.store.write_relaxed(lambda db: ended.wait()))
    for gate in gates.values():
        gate.opened.set()
        await turns()
    ended.set()
    await held
    await harness.over(delivered=len(hosts))
    assert groups == [1, len(hosts) - 1]


async def test_an_outcome_that_cannot_be_recorded_costs_only_itself(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    record = attempt_outcomes.record

    def failing(db: Connection, outcomes: Sequence[Outcome]) -> set[int]:
        if any(outcome.hook_id == poison for outcome in outcomes):
            raise ArithmeticError("out of range")
        return record(db, outcomes)

    monkeypatch.setattr(attempt_outcomes, "record", failing)
    gate = harness.network.script = Gate([f"h{number}.example" for number in range(1, 6)])
    _, poison, *_ = [harness.hook() for _ in range(5)]
    await harness.work()
    await harness.event()
    await until(lambda: harness.network.in_flight[""] == 5)
    gate.opened.set()
    await until(lambda: harness.counts()["delivered"] == 4)
    await settle()
    assert harness.counts()["waiting"] == 1
    assert harness.attempts(poison) == []
    (delivery,) = [row for row in harness.deliveries() if row["hook_id"] == poison]
    (said,) = [one for one in caplog.messages if "is not recorded" in one]
    assert said.startswith(f"the outcome of delivery {delivery['id']} ")
    monkeypatch.undo()
    harness.crash()
    await harness.work()
    await harness.over(delivered=5)


def damaged(db: Connection, outcomes: Sequence[Outcome]) -> set[int]:
    raise Damaged("a page of attempts")


async def test_damage_where_an_attempt_belongs_sends_nothing_twice(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_outcomes, "record", damaged)
    harness.hook()
    ordered = harness.hook(options={"ordering": {"path": "/ref"}})
    await harness.work()
    for _ in range(2):
        await harness.event(body=b'{"ref": "main"}')
    await harness.over(delivered=4)
    assert len(harness.network.posts) == 4
    assert harness.attempts(ordered) == []
    monkeypatch.undo()
    harness.crash()
    await harness.work()
    await harness.event(body=b'{"ref": "main"}')
    await harness.over(delivered=6)
    assert len(harness.network.posts) == 6


async def test_damage_where_an_attempt_belongs_uses_up_no_retry_of_a_throttled_delivery(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_outcomes, "record", damaged)
    answers = [said(429), said(429), said()]
    harness.network.script = lambda _: answers.pop(0)
    harness.hook(options={"retries": [0]})
    await harness.work()
    await harness.event()
    for left in (2, 1):
        await until(lambda left=left: len(answers) == left and not harness.leased())
        await harness.pass_time(61)
    await harness.over(delivered=1)
