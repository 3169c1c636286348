"""The worker's metrics: they match the deliveries, and its lag excludes slow endpoints."""

import logging

import pytest
from clock_helpers import hasten
from waiting import until
from worker_harness import Gate, WorkerHarness, said, settle

from store.clock import SECOND
from store.database.metrics import HistogramMetric
from store.delivery import deliveries, leases
from store.delivery.outcomes.outcome import Outcome
from store.errors import Unavailable
from store.ordering.delivery_states import DEAD, DELIVERED, WAITING
from worker.delivery.metrics import RESULTS, WorkerMetrics, stage_of
from worker.delivery.recorder import log_dead


def count(spread: HistogramMetric) -> int:
    return int(sum(sum(counts) for counts, _ in spread.values().values()))


def total(spread: HistogramMetric) -> float:
    return sum(total for _, total in spread.values().values())


async def test_counts_match_the_deliveries(harness: WorkerHarness) -> None:
    harness.hook()
    harness.hook()
    worker = await harness.work()
    metrics = worker.metrics
    await harness.events(30)
    await harness.over(delivered=60)
    await until(lambda: count(metrics.latency) == 60)
    assert metrics.deliveries.values() == {("delivered",): 60, ("dead",): 0, ("dropped",): 0}
    assert metrics.attempts.values()[("2xx",)] == 60
    assert sum(metrics.attempts.values().values()) == 60
    assert count(metrics.durations) == 60
    assert total(metrics.durations) == pytest.approx(60 * 0.001)
    assert (metrics.in_flight.read(), metrics.buffered.read()) == (0, 0)
    assert worker.lease.lag == 0


async def test_failures_and_retries(harness: WorkerHarness) -> None:
    answers = iter([said(503), said(error="connect: refused"), said(301), said(200)])
    harness.network.script = lambda post: next(answers)
    hook_id = harness.hook()
    metrics = (await harness.work()).metrics
    await harness.event()
    for number, pause in enumerate((5, 300, 1800), 1):
        await harness.recorded(hook_id, number)
        await harness.pass_time(pause)
    await harness.over(delivered=1)
    await until(lambda: count(metrics.latency) == 1)
    attempts = {name: many for (name,), many in metrics.attempts.values().items() if many}
    assert attempts == {"5xx": 1, "connect": 1, "3xx": 1, "2xx": 1}
    assert metrics.deliveries.values()[("delivered",)] == 1
    assert total(metrics.latency) == pytest.approx(5 + 300 + 1800, abs=1)


async def test_a_dead_delivery_is_counted_and_logged(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate(["h1.example"], lambda: said(410))
    harness.network.script = gate
    hook_id = harness.hook()
    metrics = (await harness.work()).metrics
    await harness.event()
    await until(lambda: harness.network.in_flight["h1.example"] == 1)
    with caplog.at_level(logging.WARNING):
        gate.opened.set()
        await harness.over(dead=1)
        await until(lambda: metrics.deliveries.values()[("dead",)] == 1)
    assert metrics.disabled.values() == {(): 1}
    assert f"hook {hook_id}: 1 deliveries are dead" in caplog.text


async def test_a_delivery_without_a_body_is_counted_as_dropped(harness: WorkerHarness) -> None:
    harness.hook()
    await harness.event()
    harness.store.write_sync(lambda db: db.execute("UPDATE event SET body = NULL"))
    metrics = (await harness.work()).metrics
    await harness.over(dead=1)
    await until(lambda: metrics.deliveries.values()[("dropped",)] == 1)
    assert metrics.deliveries.values()[("dead",)] == 0
    assert count(metrics.durations) == 0


async def test_a_redelivery_is_no_first_delivery(harness: WorkerHarness) -> None:
    harness.hook()
    metrics = (await harness.work()).metrics
    receipt = await harness.event()
    await harness.over(delivered=1)
    await harness.advance(50)
    await harness.store.write(deliveries.redeliver, receipt.event_id, 1, harness.repo["id"])
    await harness.over(delivered=2)
    await until(lambda: metrics.deliveries.values()[("delivered",)] == 2)
    assert count(metrics.latency) == 1


async def test_latency_of_a_claimed_delivery_begins_at_acceptance(harness: WorkerHarness) -> None:
    harness.hook()
    await harness.event()
    harness.clock.advance(40)
    metrics = (await harness.work()).metrics
    await harness.over(delivered=1)
    await until(lambda: count(metrics.latency) == 1)
    assert total(metrics.latency) == pytest.approx(40, abs=1)


async def test_resting_endpoints(harness: WorkerHarness) -> None:
    harness.network.script = lambda post: said(500)
    harness.hook(options={"breaker": 1})
    metrics = (await harness.work()).metrics
    assert metrics.cooling_down.read() == 0
    await harness.event()
    await until(lambda: metrics.cooling_down.read() == 1)


async def test_jobs_are_counted(harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: object) -> None:
        raise Unavailable("disk full")

    worker = await harness.work()
    (poll,) = [task for task in worker.periodic_tasks() if task.name == "look"]
    await poll.run()
    monkeypatch.setattr(leases, "renew", away)
    with pytest.raises(Unavailable):
        await poll.run()
    found = worker.metrics.jobs.values()
    assert (found[("look", "done")], found[("look", "failed")]) == (1, 1)
    monkeypatch.undo()


class TestLag:
    async def test_a_slow_endpoint_is_no_lag(self, harness: WorkerHarness) -> None:
        gate = Gate(["h1.example"])
        harness.network.script = gate
        harness.hook(options={"concurrency": 1})
        worker = await harness.work()
        await harness.events(20)
        await until(lambda: harness.network.in_flight["h1.example"] == 1)
        hasten(5)
        await settle()
        assert worker.lease.lag == 0
        gate.opened.set()
        await harness.over(delivered=20)

    async def test_a_hook_that_waits_for_a_turn_lags(self, harness: WorkerHarness) -> None:
        gate = Gate(["h1.example", "h2.example"])
        harness.network.script = gate
        harness.hook()
        harness.hook()
        worker = await harness.work(max_in_flight=1)
        await harness.event()
        await until(lambda: len(harness.network.posts) == 1)
        first = worker.lease.lag
        await until(lambda: worker.lease.lag > max(first, 0.02))
        gate.opened.set()
        await harness.over(delivered=2)
        assert worker.lease.lag == 0

    async def test_a_store_that_gives_nothing_makes_it_lag(
        self, harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away(*args: object) -> None:
            raise Unavailable("disk full")

        harness.hook()
        worker = await harness.work()
        with monkeypatch.context() as patched:
            patched.setattr(deliveries, "claim", away)
            harness.store.notifier.wake([1])
            await until(lambda: worker.lease.lag > 0.02)
        await until(lambda: worker.lease.lag == 0)

    async def test_the_lag_is_stored_with_the_lease(
        self, harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        worker = await harness.work()
        said: list[int] = []
        renew = leases.renew

        def renewing(db, lease_id: int, lifetime: int, lag: int = 0) -> bool:  # type: ignore[no-untyped-def]
            said.append(lag)
            return renew(db, lease_id, lifetime, lag)

        monkeypatch.setattr(leases, "renew", renewing)
        monkeypatch.setattr(type(worker.lease), "lag", 2.5)
        await worker.poll()
        assert said == [2_500_000]


def outcome(**given: object) -> Outcome:
    made = {
        "lease_id": 1, "delivery_id": 1, "hook_id": 1, "event_id": 1, "repo_id": 1, "number": 1,
        "redelivery": 0, "started_at": 10 * SECOND, "duration": SECOND, "status_code": 200,
        "error": None, "url": "", "address": None, "timings": "{}", "request_head": "",
        "response_head": None, "response_body": None, "state": DELIVERED, "due_at": 0,
    }  # fmt: skip
    return Outcome(**(made | given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "status", "result"),
    [
        (None, 204, "2xx"), (None, 404, "4xx"), (None, 599, "5xx"), (None, 999, "other"),
        (None, None, "other"), ("timeout: connect: late", None, "timeout"),
        ("tls: bad", None, "tls"), ("read: closed", 200, "read"), ("evil\nstage: x", None, "other"),
        ("", None, "other"),
    ],
)  # fmt: skip
def test_results_are_few(error: str | None, status: int | None, result: str) -> None:
    metrics = WorkerMetrics()
    metrics.recorded([outcome(error=error, status_code=status, state=WAITING)], 0)
    found = {name: many for (name,), many in metrics.attempts.values().items() if many}
    assert found == {result: 1}
    assert result in RESULTS


def test_dead_deliveries_are_logged_in_one_line_for_each_hook(
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret = "connect: to https://u:p@h.example/?token=hush"
    failed = {"state": DEAD, "error": secret}
    dead = [outcome(hook_id=at % 2, delivery_id=at, died=True, **failed) for at in range(10)]
    with caplog.at_level(logging.WARNING):
        # Another worker has the delivery of the last one.
        log_dead([*dead, outcome(), outcome(hook_id=7, **failed)])
    assert len(caplog.records) == 2
    assert "5 deliveries are dead; the last ended with attempt 1: connect" in caplog.text
    assert "hush" not in caplog.text
    assert stage_of(secret) == "connect"
