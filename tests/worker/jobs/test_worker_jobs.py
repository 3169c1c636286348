"""The table of the worker's jobs, its periodic tasks, and the job that prunes."""

import asyncio
from collections import Counter
from functools import partial
from typing import Any

import pytest
from audit_forgery import forge
from engines import embedded
from waiting import PATIENCE, until
from worker_harness import WorkerHarness, said, settle

from store import Connection
from store.audit import audit_check, audit_log, audit_search
from store.clock import HOUR, SECOND
from store.database.metrics import CounterMetric
from store.delivery import attempts, events, hook_removal, leases, retention
from store.delivery.websub import websub_foreign
from store.errors import Unavailable
from store.hooks import hooks
from store.jobs import jobs
from store.jobs.jobs import JobSchedule
from store.projection import projection_cursor
from worker.jobs.prune import prune
from worker.scheduler import clock_steps
from worker.scheduler.outages import discount_outage
from worker.scheduler.periodic import PeriodicRunner, PeriodicTask, count_runs
from worker.settings import WorkerSettings
from worker.tuning import DEFAULTS

DAY = 86_400


def count(db: Connection) -> Counter[str]:
    tables = ("event", "delivery", "attempt", "hook")
    found = Counter({name: db.value(f"SELECT count(*) FROM {name}") for name in tables})
    found["bodies"] = db.value("SELECT count(*) FROM event WHERE body IS NOT NULL")
    return +found


def unprojected(harness: WorkerHarness) -> int:
    state = harness.store.read_sync(projection_cursor.state)
    return int(state["newest"] - state["event_id"])


async def test_an_outage_is_discounted_once(harness: WorkerHarness) -> None:
    """Several workers start after it at the same time, and one starts again before a job ends."""
    hook_id, began = harness.hook(), harness.clock.now() - DAY * SECOND

    def prepare(db: Connection) -> None:
        db.execute("UPDATE hook SET failing_since = :began", began=began)
        prune_is_due(db)
        db.execute("UPDATE job SET ended_at = :now", now=db.now)

    harness.store.write_sync(prepare)
    harness.clock.advance(3_600)
    for _ in range(3):
        lease_id = harness.store.write_sync(leases.acquire, "one", HOUR)
        harness.store.write_sync(leases.release_others, lease_id)
        harness.store.write_sync(discount_outage)
        harness.clock.advance(60)
    assert harness.hook_row(hook_id)["failing_since"] == began + HOUR
    # The next outage is another one.
    harness.store.write_sync(lambda db: db.execute("UPDATE job SET ended_at = :now", now=db.now))
    harness.clock.advance(3_600)
    for _ in range(2):
        harness.store.write_sync(discount_outage)
    assert harness.hook_row(hook_id)["failing_since"] == began + 2 * HOUR


# The table of jobs, and the periodic tasks of each worker.


async def test_each_job_is_in_the_table(harness: WorkerHarness) -> None:
    worker = await harness.work()
    # If several workers are possible, a separate task renews the lease, because polls may be slow.
    lease = [] if harness.store.engine.single_worker else ["lease"]
    names = [task.name for task in worker.periodic_tasks()]
    assert names == [*lease, "look", "websub", "reflect", "clock"]
    assert 3 * DEFAULTS.poll_interval <= DEFAULTS.lease / SECOND, "a lease outlives a failed poll"
    table = {job.name: job.when.words for job in worker.jobs.table}
    await until(lambda: len(harness.store.read_sync(jobs.every)) == len(table))
    found = {row["name"]: row["schedule"] for row in harness.store.read_sync(jobs.every)}
    assert found == table
    assert {found[name] for name in ("deploy", "expire", "replay")} == {"when needed"}
    assert found["prune"] == "*/10 * * * *"


async def test_a_beat_goes_on_one_run_after_the_other() -> None:
    running = most = runs = 0

    async def slow() -> None:
        nonlocal running, most, runs
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        runs += 1

    beats = PeriodicRunner()
    beats.start([PeriodicTask("slow", 0.01, slow)])
    await until(lambda: runs >= 3)
    beats.stop()
    assert most == 1


async def test_a_beat_that_fails_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    runs = CounterMetric("runs", "", ("name", "outcome"))
    errors = [Unavailable("disk full"), ValueError("a mistake")]

    async def failing() -> None:
        if errors:
            raise errors.pop(0)

    beats = PeriodicRunner()
    beats.start([PeriodicTask("failing", 0.01, count_runs("failing", failing, runs))])
    await until(lambda: ("failing", "done") in runs.values())
    beats.stop()
    assert runs.values()["failing", "failed"] == 2
    assert "failing: disk full" in caplog.text
    assert "a mistake" in caplog.text


# Pruning.


prune_few_at_a_time = partial(prune, batch=3, pause=0)


def later(harness: WorkerHarness, days: float) -> None:
    """Let days pass in which pruning is on time."""
    harness.clock.advance(days * DAY)
    harness.store.write_sync(prune_is_due)


def prune_is_due(db: Connection) -> None:
    jobs.save_schedules(db, [JobSchedule("prune", "now", db.now)])


async def test_pruning_keeps_to_the_settings(harness: WorkerHarness) -> None:
    settings = WorkerSettings()
    assert (settings.keep_attempts, settings.keep_bodies) == (30 * DAY, 7 * DAY)
    hook_id = harness.hook()
    await harness.work()
    await harness.events(10)
    await harness.over(delivered=10)
    await until(lambda: unprojected(harness) == 0)
    # Its own run of the job would hold the due time.
    await harness.rest()
    all_of_it = {"event": 10, "delivery": 10, "attempt": 10, "hook": 1, "bodies": 10}
    for days, expected in (
        (6.9, all_of_it),
        (0.2, {**all_of_it, "bodies": 0}),
        (22.8, {**all_of_it, "bodies": 0}),
        (0.2, {"hook": 1}),
    ):
        later(harness, days)
        await prune_few_at_a_time(harness.store, settings)
        assert harness.store.read_sync(count) == +Counter(expected), days
    assert harness.store.read_sync(attempts.page, hook_id, limit=10) == []


async def test_a_late_run_of_pruning_counts_from_its_time(harness: WorkerHarness) -> None:
    """The clock may be fast for a moment. Otherwise, the next run deletes the rest."""
    harness.hook()
    await harness.work()
    await harness.event()
    await harness.over(delivered=1)
    await until(lambda: unprojected(harness) == 0)
    # Its own run of the job would hold the due time.
    await harness.rest()
    harness.store.write_sync(prune_is_due)
    harness.clock.advance(365 * DAY)
    await prune_few_at_a_time(harness.store, WorkerSettings())
    everything = Counter(event=1, delivery=1, attempt=1, hook=1, bodies=1)
    assert harness.store.read_sync(count) == everything
    harness.store.write_sync(prune_is_due)
    await prune_few_at_a_time(harness.store, WorkerSettings())
    assert harness.store.read_sync(count) == Counter(hook=1)


async def test_a_run_of_pruning_that_fails_for_a_day_counts_from_the_present(
    harness: WorkerHarness,
) -> None:
    """Its due time does not move, and nothing else would be deleted until the failures end."""
    harness.hook()
    await harness.work()
    await harness.event()
    await harness.over(delivered=1)
    await until(lambda: unprojected(harness) == 0)
    # Its own run of the job would hold the due time.
    await harness.rest()
    harness.store.write_sync(prune_is_due)
    harness.clock.advance(365 * DAY)
    harness.store.write_sync(
        lambda db: db.execute("UPDATE job SET failures = 24 WHERE name = 'prune'")
    )
    await prune_few_at_a_time(harness.store, WorkerSettings())
    assert harness.store.read_sync(count) == Counter(hook=1)


async def test_the_audit_log_is_kept_longest(harness: WorkerHarness) -> None:
    assert WorkerSettings().keep_audit == 400 * DAY

    def write(db: Connection) -> None:
        for number in range(8):
            audit_log.add(
                db, audit_log.AuditEntry(audit_log.Actor("ada", "token"), "x", f"/{number}", "204")
            )

    harness.store.write_sync(write)
    for days, settings, left in (
        (399, WorkerSettings(), 8),
        (3, WorkerSettings(keep_audit=0), 8),
        (0, WorkerSettings(), 1),
        (9, WorkerSettings(), 1),
    ):
        harness.clock.advance(days * DAY)
        await prune_few_at_a_time(harness.store, settings)
        assert len(harness.store.read_sync(audit_search.page, limit=10)) == left
    chain = harness.store.read_sync(audit_check.start_check)
    harness.store.read_sync(audit_check.check, chain, 10)
    assert (chain.first, chain.count, chain.problems) == (9, 1, [])


async def test_pruning_checks_the_audit_log(harness: WorkerHarness) -> None:
    actor = audit_log.Actor("ada", "token")
    harness.store.write_sync(audit_log.add, audit_log.AuditEntry(actor, "x", "/x", "204"))
    harness.store.write_sync(forge, "UPDATE audit SET actor = 'eve'")
    harness.clock.advance(402 * DAY)
    await prune_few_at_a_time(harness.store, WorkerSettings())
    chain = harness.store.read_sync(audit_check.start_check)
    harness.store.read_sync(audit_check.check, chain, 10)
    assert (chain.first, chain.count) == (2, 1)
    (problem,) = chain.problems
    assert problem.startswith("entry 1 is not what was written")


@embedded("PostgreSQL stores no value of another type")
@pytest.mark.parametrize(
    "change",
    [
        "actor = CAST(x'ff' AS TEXT)",
        "details = x'ff'",
        "at = 'x'",
        "at = x'ff'",
        "digest = 'x'",
        "digest = CAST(x'ff' AS TEXT)",
        "digest = 5",
        "digest = 99999999999999",
        "details = CAST(x'ff' AS TEXT), through = 0",
        "details = '[]', through = 0",
    ],
)
async def test_a_forged_value_does_not_end_pruning(harness: WorkerHarness, change: str) -> None:
    actor = audit_log.Actor("ada", "token")
    for days in (0, 402):
        harness.clock.advance(days * DAY)
        harness.store.write_sync(audit_log.add, audit_log.AuditEntry(actor, "x", "/x", "204"))
    harness.store.write_sync(forge, f"UPDATE audit SET {change} WHERE id = 1")
    await prune_few_at_a_time(harness.store, WorkerSettings())
    chain = harness.store.read_sync(audit_check.start_check)
    harness.store.read_sync(audit_check.check, chain, 10)
    assert (chain.first, chain.number) == (2, 3)
    assert chain.problems[0].endswith("(before entry 3 let it be deleted)")


async def test_pruning_keeps_waiting_deliveries(harness: WorkerHarness) -> None:
    harness.network.script = lambda post: said(500)
    harness.hook(options={"disable_after": 0, "breaker": 0})
    await harness.work()
    await harness.events(10)
    await until(lambda: harness.store.read_sync(count)["attempt"] == 10)
    await harness.rest()
    later(harness, 100)
    async with asyncio.timeout(PATIENCE):
        await prune_few_at_a_time(harness.store, WorkerSettings())
    assert harness.store.read_sync(count) == +Counter(event=10, delivery=10, hook=1, bodies=10)
    harness.network.script = lambda post: said()
    await harness.work()
    await harness.over(delivered=10)


async def test_waiting_deliveries_do_not_stop_pruning(harness: WorkerHarness) -> None:
    receipts = [await harness.event(name="push") for _ in range(5)]
    hook_id = harness.hook()
    await harness.events(5)
    harness.store.write_sync(hooks.disable, hook_id, "a test")
    late = [await harness.event() for _ in range(5)]
    harness.clock.advance(8 * DAY)
    await prune_few_at_a_time(harness.store, WorkerSettings(reflect=False))
    for receipt in receipts + late:
        row = harness.store.read_sync(events.get, receipt.event_id)
        assert row is not None
        assert row["body"] is None
    assert harness.store.read_sync(count)["bodies"] == 5


async def test_an_event_stays_until_it_is_state(harness: WorkerHarness) -> None:
    """The worker was off for a month, or its clock is fast for a moment."""
    receipt = await harness.event()
    harness.clock.advance(31 * DAY)
    await prune(harness.store, WorkerSettings())
    row = harness.store.read_sync(events.get, receipt.event_id)
    assert row is not None
    assert row["body"] is not None
    await harness.work()
    await until(lambda: unprojected(harness) == 0)
    await prune(harness.store, WorkerSettings())
    assert harness.store.read_sync(events.get, receipt.event_id) is None


async def test_deleted_hooks_go_with_their_attempts(harness: WorkerHarness) -> None:
    hook_id = harness.hook()
    harness.store.write_sync(lambda db: hook_removal.delete(db, harness.hook_row(hook_id)))
    harness.clock.advance(29 * DAY)
    await prune(harness.store, WorkerSettings())
    assert harness.store.read_sync(hooks.by_id, hook_id) is not None
    harness.clock.advance(2 * DAY)
    await prune(harness.store, WorkerSettings())
    assert harness.store.read_sync(hooks.by_id, hook_id) is None


async def test_reports_of_branches_that_are_gone_go_after_a_month(harness: WorkerHarness) -> None:
    sql = "INSERT INTO ref_report (repo_id, name, gone_at) VALUES (:repo_id, 'x', :now)"
    count = "SELECT count(*) FROM ref_report"
    harness.store.write_sync(lambda db: db.execute(sql, repo_id=harness.repo["id"], now=db.now))
    for days, kept in ((30, 1), (2, 0)):
        harness.clock.advance(days * DAY)
        await prune(harness.store, WorkerSettings())
        assert harness.store.read_sync(lambda db: db.value(count)) == kept


async def test_fetched_topics_go_when_their_last_fetch_is_old(harness: WorkerHarness) -> None:
    def add(db: Connection) -> None:
        for number in range(7):
            db.execute(
                "INSERT INTO websub_topic (key, url, fetched_at) VALUES (:key, :key, :now)",
                key=f"k{number}",
                now=db.now,
            )

    harness.store.write_sync(add)
    for days, left in ((29, 7), (31, 0)):
        harness.clock.advance(days * DAY)
        await prune_few_at_a_time(harness.store, WorkerSettings())
        many = harness.store.read_sync(lambda db: db.value("SELECT count(*) FROM websub_topic"))
        assert many == left


@pytest.mark.parametrize("options", [{}, {"ordering": "hook"}], ids=["none", "hook"])
async def test_retries_of_a_fast_clock_are_due_after_pruning(
    harness: WorkerHarness, options: dict[str, str]
) -> None:
    harness.clock.advance(365 * DAY)
    harness.network.script = lambda post: said(503, head=b"Retry-After: 60")
    hook_id = harness.hook(options=options)
    await harness.work()
    await harness.events(4)
    await until(lambda: harness.attempts(hook_id))
    await harness.rest()
    harness.clock.advance(-365 * DAY)
    harness.network.script = lambda post: said()
    await harness.work()
    await settle()
    assert harness.counts()["waiting"] == 4
    await prune_few_at_a_time(harness.store, WorkerSettings())
    # The worker finds changed hooks at its next poll, a few seconds later.
    await harness.pass_time(5)
    await harness.over(delivered=4)


@pytest.mark.parametrize("options", [{}, {"ordering": "hook"}], ids=["none", "hook"])
async def test_retries_of_an_hour_that_comes_again_are_due(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    monkeypatch.setattr(clock_steps, "BATCH", 2)
    harness.network.script = lambda post: said(503, head=b"Retry-After: 60")
    early = harness.hook(events=["star"], options={"retries": [0, 7_200]})
    hook_id = harness.hook(options=options)
    worker = await harness.work()
    await harness.event(name="star")
    await harness.recorded(early, 1)
    harness.clock.advance(3_600)
    await worker.clock_steps.check()
    await harness.events(4)
    await until(lambda: harness.attempts(hook_id))
    harness.clock.advance(-3_600)
    harness.network.script = lambda post: said()
    await harness.event()
    await harness.pass_time(5)
    assert not harness.states(hook_id).get("delivered")
    await worker.clock_steps.check()
    await harness.pass_time(5)
    await until(lambda: harness.states(hook_id) == {"delivered": 5})
    # This one was made while the clock was right.
    assert len(harness.attempts(early)) == 1


async def test_fetches_of_a_fast_clock_are_due_after_pruning(harness: WorkerHarness) -> None:
    def add(db: Connection) -> None:
        db.execute(
            "INSERT INTO websub_topic (key, url, due_at) VALUES ('k', 'k', :due_at)",
            due_at=db.now + 365 * DAY * SECOND,
        )

    harness.store.write_sync(add)
    await prune_few_at_a_time(harness.store, WorkerSettings())
    assert harness.store.read_sync(websub_foreign.next_due) == harness.clock.now()


async def test_pruning_leaves_the_longest_delay(harness: WorkerHarness) -> None:
    harness.network.script = lambda post: said(503)
    hook_id = harness.hook(options={"retries": [0, 7 * DAY]})
    await harness.work()
    await harness.event()
    await harness.recorded(hook_id, 1)
    await prune(harness.store, WorkerSettings(jitter=1))
    await harness.pass_time(6 * DAY)
    assert len(harness.network.posts) == 1
    await harness.pass_time(DAY)
    await harness.recorded(hook_id, 2)


async def test_others_get_their_turn_between_batches(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    drop = retention.drop_bodies

    def spied(*given: Any) -> retention.Step:
        order.append("prune")
        return drop(*given)

    spied.__name__ = "drop_bodies"
    monkeypatch.setattr(retention, "drop_bodies", spied)
    await harness.events(20)
    harness.clock.advance(8 * DAY)
    pruning = asyncio.create_task(prune(harness.store, WorkerSettings(reflect=False), batch=2))
    await until(lambda: "prune" in order)
    await harness.event()
    order.append("event")
    await pruning
    assert order.index("event") < len(order) - 1
    assert order.count("prune") == 11


async def test_events_that_stay_are_examined_a_few_at_a_time(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[retention.Step] = []
    drop = retention.drop_bodies

    def spied(*given: Any) -> retention.Step:
        steps.append(drop(*given))
        return steps[-1]

    spied.__name__ = "drop_bodies"
    monkeypatch.setattr(retention, "drop_bodies", spied)
    harness.hook()
    await harness.events(10)
    harness.clock.advance(8 * DAY)
    await prune_few_at_a_time(harness.store, WorkerSettings(reflect=False))
    assert [step.dropped for step in steps] == [0, 0, 0, 0]
    assert steps[-1].reached is None


async def test_the_worker_prunes_by_its_settings(harness: WorkerHarness) -> None:
    harness.hook()
    worker = await harness.work(keep_bodies=60)
    await harness.event()
    await harness.over(delivered=1)
    await until(lambda: unprojected(harness) == 0)
    harness.clock.advance(61)
    (pruning,) = [job for job in worker.jobs.table if job.name == "prune"]
    await pruning.run()
    assert harness.store.read_sync(count)["bodies"] == 0
