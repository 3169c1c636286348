"""Scheduled jobs, which the store records: each runs when it is due, once, despite crashes."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

import pytest
from apscheduler.triggers import date
from scheduler_place import Place
from store_world import FakeNotifier
from waiting import PATIENCE, until

from store import Connection, Row, Store, open_store
from store.clock import DAY, HOUR, SECOND, MovableClock
from store.errors import Unavailable
from store.jobs import jobs
from worker.scheduler.job_records import ScheduledJob, save_records
from worker.scheduler.job_runner import JobRunner, run_job
from worker.scheduler.triggers import CalendarTrigger, DataTrigger, IntervalTrigger

NIGHTLY = "15 0 * * *"


@pytest.fixture
async def place(
    anyio_backend: str, url: str, tmp_path: Path, clock: MovableClock
) -> AsyncIterator[Place]:
    made = Place(url, tmp_path, clock)
    yield made
    await made.stop()
    for store in made.stores:
        await store.close()


@dataclass(frozen=True)
class Once:
    """A trigger that is due once, at a moment (microseconds)."""

    moment: int
    words: str = "once"

    def due(self, db: Connection, row: Row | None) -> int | None:
        served = row is not None and (row["served_at"] or 0) >= self.moment
        return None if served else self.moment

    def next(self, db: Connection, row: Row) -> int | None:
        return None


def at(place: Place, seconds: float) -> Once:
    """A trigger that is due once, this many seconds from now."""
    return Once(place.clock.now() + round(seconds * SECOND))


async def test_each_job_runs_at_its_time(place: Place) -> None:
    place.job("nightly", CalendarTrigger(NIGHTLY))
    place.job("often", IntervalTrigger(600))
    place.start()
    await place.quiet()
    assert place.runs == ["often"]
    await place.passed(599)
    assert place.runs == ["often"]
    await place.passed(1)
    assert place.runs == ["often"] * 2
    row = place.row("often")
    assert (row["outcome"], row["due_at"]) == ("done", place.clock.now() + 600 * SECOND)
    place.runs.clear()
    await place.passed(17 * 3600)
    assert sorted(place.runs) == ["nightly", "often"]


async def test_missed_jobs_run_once_after_a_sleep(place: Place) -> None:
    place.job("nightly", CalendarTrigger(NIGHTLY))
    place.job("hourly", CalendarTrigger("0 * * * *"))
    place.job("sooner", at(place, 60))
    runner = place.start()
    await place.quiet()
    assert runner.next_runs.keys() == {"nightly", "hourly", "sooner"}
    assert place.runs == []
    await place.passed(5 * 86_400)
    # Jobs run in the order of their due times. One run makes up for all missed runs.
    assert place.runs == ["sooner", "hourly", "nightly"]
    await place.passed(0)
    assert len(place.runs) == 3


async def test_jobs_missed_while_stopped_run_once_at_the_start(place: Place) -> None:
    place.job("nightly", CalendarTrigger(NIGHTLY))
    place.job("hourly", CalendarTrigger("0 * * * *"))
    place.start()
    await place.quiet()
    await place.stop()
    place.clock.advance(2 * 86_400)
    place.start("two")
    await until(lambda: len(place.runs) == 2)
    await place.quiet()
    assert place.runs == ["hourly", "nightly"]
    assert place.row("hourly")["due_at"] - place.clock.now() < HOUR


async def test_overdue_jobs_do_not_run_side_by_side(place: Place) -> None:
    place.head_start = PATIENCE
    running: list[str] = []

    def slowly(name: str) -> Callable[[], Awaitable[None]]:
        async def script() -> None:
            assert not running
            running.append(name)
            await asyncio.sleep(0.02)
            running.remove(name)

        return script

    for number in (3, 1, 2):
        name = f"job-{number}"
        place.job(name, at(place, number))
        place.scripts[name] = slowly(name)
    place.clock.advance(DAY / SECOND)
    place.start()
    await until(lambda: len(place.runs) == 3)
    await place.quiet()
    assert place.runs == ["job-1", "job-2", "job-3"]
    assert {place.row(name)["outcome"] for name in place.runs} == {"done"}


async def test_a_long_job_does_not_delay_others(place: Place) -> None:
    place.head_start = 0.01
    opened = asyncio.Event()
    place.job("long", at(place, 1))
    place.job("short", at(place, 2))
    place.job("later", at(place, 90_000))
    place.scripts["long"] = lambda: _wait(opened)
    place.clock.advance(60)
    place.start()
    await until(lambda: place.runs == ["long", "short"])
    place.clock.advance(90_000)
    place.runners[0].wake()
    await until(lambda: place.runs[-1] == "later")
    opened.set()
    await place.quiet()
    assert place.row("long")["outcome"] == "done"
    assert place.runs.count("long") == 1


async def _wait(event: asyncio.Event) -> None:
    await event.wait()


async def test_timers_need_no_time_zone_of_the_machine(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library does not know every time zone that a machine may have, such as `CET-1CEST`."""

    def unknown() -> tzinfo:
        raise ZoneInfoNotFoundError("CET-1CEST")

    monkeypatch.setattr(date, "get_localzone", unknown)
    place.job("often", IntervalTrigger(600))
    runner = place.start()
    await place.quiet()
    assert runner.next_runs.keys() == {"often"}


async def test_jobs_keep_their_times_after_the_clock_is_put_back(place: Place) -> None:
    place.job("nightly", CalendarTrigger(NIGHTLY))
    place.job("often", IntervalTrigger(600))
    runner = place.start()
    await place.quiet()
    await place.passed(17 * 3600)
    place.runs.clear()
    await place.passed(-3600)
    assert place.runs == []
    nightly, often = (runner.next_runs[name] for name in ("nightly", "often"))
    assert (nightly - often).total_seconds() > 20 * 3600
    await place.passed(600)
    assert place.runs == ["often"]
    await place.passed(3600)
    assert "nightly" not in place.runs
    await place.passed(24 * 3600)
    assert place.runs.count("nightly") == 1


async def test_a_failed_job_is_repeated_after_a_pause(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    errors: list[Exception] = [Unavailable("disk full"), ValueError("a secret in it")]

    async def failing() -> None:
        if errors:
            raise errors.pop(0)

    place.job("failing", CalendarTrigger(NIGHTLY))
    place.job("other", at(place, 90_000))
    place.scripts["failing"] = failing
    place.start()
    await place.quiet()
    await place.passed(86_400)
    assert place.runs == ["failing"]
    row = place.row("failing")
    assert (row["outcome"], row["error"], row["failures"]) == ("failed", "disk full", 1)
    await place.passed(0)
    assert place.runs == ["failing"]
    await place.passed(60)
    row = place.row("failing")
    assert (row["error"], row["failures"]) == ("ValueError: see the log", 2)
    assert "a secret in it" in caplog.text
    await place.passed(120)
    row = place.row("failing")
    assert (row["outcome"], row["error"], row["failures"]) == ("done", None, 0)
    assert row["due_at"] > place.clock.now()
    assert place.runs == ["failing"] * 3


async def test_a_requested_job_runs_at_once(place: Place) -> None:
    place.job("nightly", CalendarTrigger(NIGHTLY))
    runner = place.start()
    await place.quiet()
    due_at = place.row("nightly")["due_at"]

    class Courier(FakeNotifier):
        def wake(self, hooks: Iterable[int]) -> None:
            assert list(hooks) == [jobs.JOBS_WAKEUP]
            runner.wake()

    place.store.notifier = Courier()
    await place.store.write(jobs.request_run, "nightly")
    await until(lambda: place.runs == ["nightly"])
    await place.quiet()
    assert place.row("nightly")["due_at"] == due_at


async def test_stopped_it_is_given_back(place: Place) -> None:
    place.job("long", at(place, 1))
    place.scripts["long"] = lambda: _wait(asyncio.Event())
    place.clock.advance(2)
    place.start()
    await until(lambda: place.runs == ["long"])
    await place.stop()
    assert place.row("long")["outcome"] == "stopped"
    del place.scripts["long"]
    place.start("two")
    await until(lambda: place.runs == ["long"] * 2)
    await place.quiet()
    assert place.row("long")["outcome"] == "done"


async def test_aborted_while_it_looks_it_starts_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.job("due", at(place, 0))
    place.job("later", at(place, 60))
    asked, go_on = asyncio.Event(), asyncio.Event()
    read = place.store.read

    async def slow(*given: Any) -> Any:
        asked.set()
        await go_on.wait()
        return await read(*given)

    monkeypatch.setattr(place.store, "read", slow)
    runner = place.start()
    await asked.wait()
    runner.abort()
    runner.wake()
    go_on.set()
    await until(lambda: runner.idle)
    assert place.runs == []
    assert runner.next_runs == {}


async def test_a_job_left_by_a_crash_runs_again(place: Place) -> None:
    place.job("long", at(place, 1))
    place.clock.advance(2)
    await place.store.write(save_records, place.table)
    # A worker has claimed the job and then crashed.
    assert await place.store.write(jobs.claim, "long", "dead") is not None
    place.start("two")
    await place.quiet()
    if not place.store.engine.single_worker:
        assert place.runs == []
        await place.passed(jobs.CLAIM_TIMEOUT / SECOND - 1)
        assert place.runs == []
        await place.passed(1)
    assert place.runs == ["long"]
    assert place.row("long")["outcome"] == "done"


async def test_a_claim_that_is_extended_too_late_is_lost(place: Place) -> None:
    ended: list[bool] = []

    async def long() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    job = place.job("long", at(place, 1))
    place.scripts["long"] = long
    place.clock.advance(2)
    await place.store.write(save_records, place.table)
    running = asyncio.create_task(run_job(place.store, job, "one", extend_every=0.02))
    await until(lambda: place.runs == ["long"])
    # The claim has timed out, so another worker claims the job.
    place.clock.advance(jobs.CLAIM_TIMEOUT / SECOND)
    assert place.store.write_sync(jobs.claim, "long", "two") is not None
    async with asyncio.timeout(PATIENCE):
        assert await running
    assert ended == [True], "the job is cancelled when its claim is lost"
    row = place.row("long")
    assert (row["holder"], row["ended_at"]) == ("two", None)


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_once_of_many_workers(place: Place) -> None:
    for name in ("nightly", "hourly"):
        place.job(name, CalendarTrigger(NIGHTLY if name == "nightly" else "0 * * * *"))
    for number in range(4):
        place.stores.append(place.another_store())
        place.start(f"worker-{number}", place.stores[-1])
    await place.quiet()
    for _ in range(3):
        await place.passed(86_400)
    assert sorted(place.runs) == ["hourly"] * 3 + ["nightly"] * 3


async def test_a_changed_schedule_is_followed(place: Place) -> None:
    place.job("nightly", CalendarTrigger(NIGHTLY))
    runner = place.start()
    await place.quiet()
    place.table = []
    place.job("nightly", CalendarTrigger("0 8 * * *"))
    runner.change(place.table)
    await place.quiet()
    assert place.row("nightly")["schedule"] == "0 8 * * *"
    await place.passed(27 * 60)
    assert place.runs == ["nightly"]


async def test_jobs_wait_for_a_store_in_trouble(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place.job("often", IntervalTrigger(600))
    take = jobs.claim

    def failing(*args: Any) -> Row | None:
        raise Unavailable("disk full")

    monkeypatch.setattr(jobs, "claim", failing)
    runner = place.start()
    await until(lambda: "cannot be recorded: disk full" in caplog.text)
    # Only a wake-up tries again: a store that fails at once would be asked without a pause.
    await place.quiet()
    assert caplog.text.count("cannot be recorded") == 1
    await place.passed(60)
    assert caplog.text.count("cannot be recorded") == 2
    assert place.runs == []
    monkeypatch.setattr(jobs, "claim", take)
    runner.wake()
    await until(lambda: place.runs == ["often"])
    await place.quiet()


async def test_a_due_job_wakes_the_runner(tmp_path: Path) -> None:
    """On the system clock, a timer wakes the runner when a job is due. Nothing polls."""
    store = open_store("sqlite", data_dir=tmp_path)
    try:
        # Only a worker polls for due jobs, and this test has none.
        assert await lateness(store) >= 0
    finally:
        await store.close()


async def lateness(store: Store) -> float:
    """Run a job that is due in 0.3 s. Return by how many seconds it started too late."""
    late: list[float] = []
    moment = time.time() + 0.3

    async def run() -> None:
        late.append(time.time() - moment)

    when = DataTrigger(lambda db: None if late else round(moment * SECOND))
    runner = JobRunner(store)
    runner.start([ScheduledJob("moment", when, run)], "one")
    try:
        await until(lambda: late)
    finally:
        await runner.stop()
    return late[0]


async def test_a_job_of_no_table_is_forgotten(place: Place) -> None:
    """Its failures would be reported for ever, and it would seem to run if somebody asks."""

    async def fails() -> None:
        raise OSError

    place.job("imports", IntervalTrigger(60))
    place.job("prunes", IntervalTrigger(60))
    place.scripts["imports"] = fails
    runner = place.start()
    await place.quiet()
    assert place.row("imports")["failures"] == 1
    runner.change(place.table[1:])
    await place.quiet()
    assert [row["name"] for row in place.store.read_sync(jobs.every)] == ["prunes"]
    runner.change(place.table)
    await place.quiet()
    assert place.runs.count("imports") == 2


async def test_a_job_that_a_worker_runs_is_not_forgotten(place: Place) -> None:
    place.store.write_sync(save_records, [place.job("imports", IntervalTrigger(60))])
    claimed = place.store.write_sync(jobs.claim, "imports", "one")
    place.store.write_sync(jobs.forget_others, ["prunes"])
    assert place.row("imports")["holder"] == "one"
    place.store.write_sync(jobs.complete, claimed, None)
    place.store.write_sync(jobs.forget_others, ["prunes"])
    assert place.store.read_sync(jobs.get, "imports") is None
