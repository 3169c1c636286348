"""All schedules of the real job table on a movable clock: sleep, clock changes, daylight saving.

The job runner itself is tested in test_job_runner.
"""

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scheduler_place import Place

from hub.settings import HubSettings
from hub.worker_events import WorkerEvents
from store import Connection, Row
from store.accounts import accounts, tokens
from store.artifacts import deployment_jobs
from store.artifacts.deployment_records import Deployment
from store.artifacts.deployment_records import DeploymentPlace as Where
from store.assistant import assistant_seats, assistant_subscriptions, seat_rows
from store.clock import DAY, HOUR, SECOND, MovableClock, iso, parse
from store.imports import imports
from store.jobs import jobs
from store.registry import republish_runs
from store.registry.expiring import EXPIRING
from store.repositories import interaction_limits, invitations, repositories
from worker.job_table import JobContext, build_jobs
from worker.scheduler.job_records import save_records
from worker.scheduler.triggers import CalendarTrigger, IntervalTrigger
from worker.settings import WorkerSettings

# In Berlin, half past two does not exist in one night of the year, and exists twice in another.
SETTINGS = WorkerSettings(
    republish_at="30 2 * * *", prune_at="*/10 * * * *", reports_at="20 0 * * *"
)
DAILY = {"republish-begin", "reports"}


@pytest.fixture
async def place(
    anyio_backend: str, url: str, tmp_path: Path, clock: MovableClock
) -> AsyncIterator[Place]:
    made = Place(url, tmp_path, clock)
    yield made
    await made.stop()
    await made.store.close()


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose local time has daylight saving."""
    with monkeypatch.context() as there:
        there.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


def counted(place: Place) -> list[tuple[str, int]]:
    """Start the real table with jobs that only add their names and times to the returned list."""
    ran: list[tuple[str, int]] = []

    def saying(name: str) -> Callable[[], Any]:
        async def run() -> None:
            ran.append((name, place.clock.now()))

        return run

    for job in build_jobs(JobContext(place.store, SETTINGS)):
        # Interval jobs would run at each step of the clock.
        if not isinstance(job.when, IntervalTrigger):
            place.table.append(replace(job, run=saying(job.name)))
    place.start()
    return ran


async def test_the_calendar_has_all_that_is_not_at_a_moment(place: Place) -> None:
    kinds = {job.name: type(job.when) for job in build_jobs(JobContext(place.store, SETTINGS))}
    assert {name for name, kind in kinds.items() if kind is CalendarTrigger} == DAILY | {"prune"}


@pytest.mark.parametrize("night", ["2026-03-28", "2026-10-24"])
async def test_schedules_hold_through_daylight_saving(
    place: Place, berlin: None, night: str
) -> None:
    place.clock.advance((parse(f"{night}T12:00:00Z") - place.clock.now()) / SECOND)
    ran = counted(place)
    await place.quiet()
    for _ in range(48):
        await place.passed(3600)
    times = Counter(name for name, _ in ran)
    assert times == {"republish-begin": 2, "reports": 2, "prune": 48}
    found = {(name, iso(at)[11:16]) for name, at in ran if name in DAILY}
    assert found == {("republish-begin", "03:00"), ("reports", "01:00")}, (
        "the clock moves by hours, so jobs run at the next full hour"
    )


async def test_missed_schedules_run_once_after_a_sleep(place: Place) -> None:
    ran = counted(place)
    await place.quiet()
    assert ran == []
    await place.passed(3 * 86_400)
    assert Counter(name for name, _ in ran) == dict.fromkeys(DAILY | {"prune"}, 1)
    rows = {row["name"]: row for row in place.store.read_sync(jobs.every)}
    for name in DAILY | {"prune"}:
        row = rows[name]
        assert row["outcome"] == "done"
        assert row["started_at"] == place.clock.now()
        assert place.clock.now() < row["due_at"] <= place.clock.now() + DAY


async def test_daily_jobs_do_not_run_again_after_the_clock_is_put_back(place: Place) -> None:
    place.clock.advance((parse("2026-11-22T04:00:00Z") - place.clock.now()) / SECOND - 4 * 3600)
    ran = counted(place)
    await place.quiet()
    await place.passed(4 * 3600)
    assert {name for name, _ in ran} >= DAILY
    ran.clear()
    await place.passed(-3 * 3600)
    for _ in range(6):
        await place.passed(1800)
    assert not DAILY & {name for name, _ in ran}, (
        "a daily job runs once although its time comes twice"
    )
    await place.passed(86_400)
    assert {name for name, _ in ran} >= DAILY


# Jobs whose due time is in the data.


def _limit(db: Connection, repo: Row, ends: int) -> None:
    interaction_limits.limit_repository(db, repo, "existing_users", ends)


def _invitation(db: Connection, repo: Row, ends: int) -> None:
    guest = accounts.create(db, "guest")
    invitations.invite(db, repo["id"], guest["id"], repo["owner_id"], "read", ends=ends)


def _seat(db: Connection, repo: Row, ends: int) -> None:
    org = accounts.create(db, "acme", kind="Organization")
    accounts.join(db, org["id"], repo["owner_id"], "admin")
    assistant_subscriptions.put(db, org["id"])
    assistant_seats.give_users(db, org["id"], [repo["owner_id"]])
    seat_rows.cancel(db, list(seat_rows.of_users(db, org["id"], [repo["owner_id"]]).values()), ends)


def _token(db: Connection, repo: Row, ends: int) -> None:
    tokens.create(db, repo["owner_id"], note="ci", expires_at=ends)


ENDING = {
    "interaction_limit.expired": _limit,
    "repository_invitation.expired": _invitation,
    "assistant_seat.cancelled": _seat,
    "authorization.expired": _token,
}


def made(place: Place) -> Row:
    def make(db: Connection) -> Row:
        owner = accounts.create(db, "ada")
        return repositories.create(db, owner["id"], "engine")

    return place.store.write_sync(make)


def at_work(place: Place) -> None:
    """Start the real table with the real jobs."""
    reporting = WorkerEvents(HubSettings())
    place.table.extend(
        build_jobs(JobContext(place.store, WorkerSettings(), reporting, reporting.again))
    )
    place.start()


def reported(place: Place) -> list[str]:
    rows = place.store.read_sync(lambda db: db.tuples("SELECT name, action FROM event ORDER BY id"))
    return [f"{name}.{action}" for name, action in rows]


def test_all_that_ends_is_here() -> None:
    assert {one.event for one in EXPIRING} == ENDING.keys()


@pytest.mark.parametrize("event", sorted(ENDING))
async def test_each_end_is_reported_at_its_moment(place: Place, event: str) -> None:
    repo = made(place)
    at_work(place)
    await place.quiet()
    place.store.write_sync(ENDING[event], repo, place.clock.now() + 2 * HOUR)
    await place.passed(2 * 3600 - 60)
    assert reported(place) == []
    runner = place.runners[0]
    left = runner.next_runs["expire"].timestamp() - time.time()
    assert 0 < left <= 60, "a timer wakes this process when the job is due"
    await place.passed(59)
    assert reported(place) == []
    await place.passed(1)
    assert reported(place) == [event]
    await place.passed(-7200)
    await place.passed(7200)
    await place.passed(86_400)
    assert reported(place) == [event]


@pytest.mark.parametrize("event", sorted(ENDING))
async def test_an_end_during_downtime_is_reported_at_the_start(place: Place, event: str) -> None:
    repo = made(place)
    place.store.write_sync(ENDING[event], repo, place.clock.now() + HOUR)
    place.clock.advance(86_400)
    at_work(place)
    await place.quiet()
    assert reported(place) == [event]


async def test_requested_jobs_run_after_the_clock_is_put_back(place: Place) -> None:
    repo = made(place)
    at_work(place)
    await place.quiet()
    # The jobs are requested while the clock is a day ahead.
    place.clock.advance(86_400)
    wanted = republish_runs.parse_pattern("ada/engine/events/repository")
    place.store.write_sync(lambda db: republish_runs.create(db, wanted, 1, rate=1000))
    what = Deployment(
        repo["id"], None, "bell", f"sha256:{'a' * 64}", None, "deployed", "one", None, None
    )
    place.store.write_sync(
        lambda db: deployment_jobs.create(
            db, repo["owner_id"], repo["owner_id"], Where("all", cluster="moon"), [what]
        )
    )
    place.clock.advance(-86_400)
    await place.passed(0)
    assert sorted(reported(place)) == ["deployment_record.created", "repository.edited"]
    await place.passed(86_400)
    assert len(reported(place)) == 2


def test_an_import_begins_after_the_clock_is_put_back(place: Place) -> None:
    repo = made(place)
    place.clock.advance(86_400)
    place.store.write_sync(
        imports.start, repo["id"], repo["owner_id"], "https://elsewhere.example/a.git"
    )
    place.clock.advance(-86_400)
    records = place.store.write_sync(save_records, build_jobs(JobContext(place.store, SETTINGS)))
    (row,) = [record.row for record in records if record.job.name == "import"]
    assert jobs.ready_at(row, place.clock.now()) == place.clock.now()
