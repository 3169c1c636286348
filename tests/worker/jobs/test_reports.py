"""Usage reports: contents, schedule, retention, and no partial report after an interruption."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from required import required
from usage_world import Using, many, using

from store import Connection, Row, Store
from store.assistant import report_files, reports, usage, usage_days, usage_sums
from store.clock import SECOND, MovableClock, parse
from store.errors import Missing, Unavailable
from worker.job_table import JobContext, build_jobs
from worker.jobs import report_file
from worker.jobs.prune import prune
from worker.jobs.reports import make
from worker.scheduler.triggers import CalendarTrigger
from worker.settings import WorkerSettings

DAY, BEFORE = "2026-11-20", "2026-11-19"


@pytest.fixture
def settings(tmp_path: Path) -> WorkerSettings:
    return WorkerSettings(data_dir=tmp_path)


@pytest.fixture
async def opened(store: Store) -> Any:
    yield store
    await store.close()


@pytest.fixture
def world(opened: Store) -> Using:
    return opened.write_sync(using)


def current(store: Store, world: Using, kind: str, day: str = DAY) -> Row | None:
    def find(db: Connection) -> Row | None:
        if "28" in kind:
            return reports.latest(db, world.enterprise["id"], kind)
        return reports.of_day(db, world.enterprise["id"], kind, usage_days.of_iso(day))

    return store.read_sync(find)


def lines(store: Store, world: Using, settings: WorkerSettings, kind: str, day: str = DAY) -> Any:
    """The lines of a report, parsed. Its file and its parts in the store must be equal."""
    row = required(current(store, world, kind, day))
    content = report_files.path(settings.data_dir, row["id"]).read_bytes()
    parts: list[bytes] = []
    while (part := store.read_sync(reports.part, row["id"], len(parts))) is not None:
        parts.append(part)
    assert b"".join(parts) == content
    assert (row["size"], row["lines"]) == (len(content), content.count(b"\n"))
    return [orjson.loads(line) for line in content.splitlines()]


def some(world: Using) -> list[usage.UsageRecord]:
    return [
        world.row(DAY, editor="vim", language="c", suggestions=5, acceptances=2, lines=9,
                  engaged=True),
        world.row(DAY, editor="emacs", repo_id=world.tools["id"], chats=1, engaged=True),
        world.row(DAY, world.ben, editor="vim", team_id=world.ops["id"], suggestions=1),
    ]  # fmt: skip


async def test_a_daily_report_has_the_figures_of_its_day(
    opened: Store, world: Using, settings: WorkerSettings
) -> None:
    opened.write_sync(usage.record, some(world))
    await make(opened, settings)
    head = {"enterprise": "globe", "report_day": DAY}

    def counts(*given: int, who: str = "users") -> dict[str, int]:
        names = ("suggestions", "acceptances", "lines", "chats", f"active_{who}", f"engaged_{who}")
        return dict(zip(names, given, strict=True))

    found = lines(opened, world, settings, "enterprise-1-day")
    assert found[0] == {**head, "dimension": "total", "name": None, **counts(6, 2, 9, 1, 2, 1)}
    by = {(one["dimension"], one["name"]): one for one in found[1:]}
    assert by["editor", "vim"] == {
        **head, "dimension": "editor", "name": "vim", **counts(6, 2, 9, 0, 2, 1)
    }  # fmt: skip
    assert by.keys() == {
        ("editor", "vim"), ("editor", "emacs"), ("language", "c"), ("language", None),
        ("model", None), ("organization", "acme"),
    }  # fmt: skip
    found = lines(opened, world, settings, "users-1-day")
    totals = [one for one in found if one["dimension"] == "total"]
    ann = {"user": "ann", "user_id": world.ann["id"]}
    ben = {"user": "ben", "user_id": world.ben["id"]}
    whole = {"dimension": "total", "name": None}
    assert totals == [
        {**head, **ann, **whole, **counts(5, 2, 9, 1, 1, 1, who="days")},
        {**head, **ben, **whole, **counts(1, 0, 0, 0, 1, 0, who="days")},
    ]
    assert [one["name"] for one in found if one["dimension"] == "editor"] == ["emacs", "vim", "vim"]
    found = lines(opened, world, settings, "repos-1-day")
    tools = {"repository": "acme/tools", "repository_id": world.tools["id"]}
    assert found[0] == {**head, **tools, **whole, **counts(0, 0, 0, 1, 1, 1)}
    assert found[1]["name"] == "emacs"
    # The records of ann name no team, and ann is a member of ops. The record of ben names ops, and
    # ben is no member.
    found = lines(opened, world, settings, "user-teams-1-day")
    ops = {"organization": "acme", "team": "ops", "team_id": world.ops["id"]}
    assert found == [
        {**head, **ops, **ann, **counts(5, 2, 9, 1, 1, 1, who="days")},
        {**head, **ops, **ben, **counts(1, 0, 0, 0, 1, 0, who="days")},
    ]


async def test_a_report_of_28_days(opened: Store, world: Using, settings: WorkerSettings) -> None:
    first, outside = "2026-10-24", "2026-10-23"
    days = (outside, first, BEFORE, DAY)
    opened.write_sync(usage.record, [world.row(day, editor="vim", suggestions=10) for day in days])
    opened.write_sync(
        usage.record, [world.row(first, world.ben, editor="vim", chats=1, active=False)]
    )
    await make(opened, settings)
    row = required(current(opened, world, "users-28-day"))
    assert (usage_days.iso(row["first_day"]), usage_days.iso(row["last_day"])) == (first, DAY)
    found = lines(opened, world, settings, "users-28-day")
    assert [(one["user"], one["suggestions"], one["active_days"]) for one in found[::5]] == [
        ("ann", 30, 3), ("ben", 0, 0)
    ]  # fmt: skip
    assert found[0].keys() >= {"report_start_day", "report_end_day"}
    (total, *_) = lines(opened, world, settings, "enterprise-28-day")
    assert (total["suggestions"], total["chats"], total["active_users"]) == (30, 1, 1)


async def test_nothing_new_makes_nothing(
    opened: Store, world: Using, settings: WorkerSettings
) -> None:
    opened.write_sync(usage.record, some(world))
    await make(opened, settings)
    before = opened.read_sync(lambda db: db.value("SELECT max(id) FROM report"))
    assert opened.write_sync(usage.record, some(world)) == 0
    await make(opened, settings)
    assert opened.read_sync(lambda db: db.value("SELECT max(id) FROM report")) == before


async def test_late_data_makes_the_day_and_the_weeks_again(
    opened: Store, world: Using, settings: WorkerSettings
) -> None:
    opened.write_sync(
        usage.record, [world.row(BEFORE, suggestions=1), world.row(DAY, suggestions=1)]
    )
    await make(opened, settings)
    old = {kind: current(opened, world, kind) for kind in ("users-1-day", "users-28-day")}
    late = [world.row(BEFORE, suggestions=3)]
    assert opened.write_sync(usage.record, late) == 1
    await make(opened, settings)
    (total, *_) = lines(opened, world, settings, "enterprise-1-day", BEFORE)
    assert total["suggestions"] == 3
    (total, *_) = lines(opened, world, settings, "enterprise-28-day")
    assert total["suggestions"] == 4
    # The report of another day is not made again. The replaced report is kept for a while.
    assert current(opened, world, "users-1-day") == old["users-1-day"]
    replaced = required(opened.read_sync(reports.get, (old["users-28-day"] or {})["id"]))
    assert replaced["replaced_at"] == opened.clock.now()


async def test_a_sleep_of_days(
    opened: Store, world: Using, settings: WorkerSettings, clock: MovableClock
) -> None:
    other = opened.write_sync(using, "moon")
    opened.write_sync(usage.record, [world.row("2026-11-21"), other.row(DAY), world.row(BEFORE)])
    await make(opened, settings)
    assert current(opened, world, "users-1-day", "2026-11-21") is None, "the day is not over"
    clock.advance(3 * 86_400)
    opened.write_sync(
        usage.record, [world.row("2026-11-23"), world.row("2026-11-22"), other.row(BEFORE)]
    )
    await make(opened, settings)
    made = opened.read_sync(
        lambda db: db.all("SELECT * FROM report WHERE kind = 'users-1-day' ORDER BY id")
    )
    assert [(row["enterprise_id"], usage_days.iso(row["last_day"])) for row in made] == [
        (world.enterprise["id"], BEFORE), (other.enterprise["id"], DAY),
        (other.enterprise["id"], BEFORE), (world.enterprise["id"], "2026-11-21"),
        (world.enterprise["id"], "2026-11-22"), (world.enterprise["id"], "2026-11-23"),
    ]  # fmt: skip
    row = required(current(opened, world, "enterprise-28-day"))
    assert usage_days.iso(row["last_day"]) == "2026-11-23"


async def test_many_steps_and_parts(
    opened: Store, world: Using, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.write_sync(many, world, DAY, 50, 3)
    monkeypatch.setattr(usage_sums, "PAGE", 7)
    await make(opened, settings, part_bytes=1000)
    found = lines(opened, world, settings, "users-1-day")
    totals = [one for one in found if one["dimension"] == "total"]
    assert [one["user_id"] for one in totals] == [1_000_000 + user for user in range(50)]
    assert {(one["user"], one["suggestions"], one["lines"]) for one in totals} == {(None, 3, 3)}
    (total, *by) = lines(opened, world, settings, "enterprise-1-day")
    assert (total["suggestions"], total["active_users"]) == (150, 50)
    editors = {one["name"]: one["active_users"] for one in by if one["dimension"] == "editor"}
    assert editors == {"e0": 50, "e1": 50, "e2": 50}


@pytest.mark.parametrize("fails_at", [1, 4, 6])
async def test_an_interrupted_report_is_made_again(
    opened: Store,
    world: Using,
    settings: WorkerSettings,
    monkeypatch: pytest.MonkeyPatch,
    fails_at: int,
) -> None:
    opened.write_sync(usage.record, [*some(world), world.row(BEFORE, suggestions=1)])
    put, calls = reports.put_part, 0

    def failing(*given: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == fails_at:
            raise Unavailable("disk full")
        put(*given)

    monkeypatch.setattr(reports, "put_part", failing)
    with pytest.raises(Unavailable):
        await make(opened, settings)
    folder = report_files.folder(settings.data_dir)
    there = opened.read_sync(
        lambda db: db.tuples("SELECT id FROM report WHERE made_at IS NOT NULL")
    )
    assert {each.name for each in folder.iterdir()} == {f"{each}.ndjson" for (each,) in there}
    # A crash leaves a partial file and a file whose report was not finished.
    unmade = opened.read_sync(
        lambda db: db.value("SELECT max(id) FROM report WHERE made_at IS NULL")
    )
    for name in (f".{unmade}-x.part", f"{unmade}.ndjson"):
        (folder / name).write_bytes(b"half")
    await make(opened, settings)
    (total, *_) = lines(opened, world, settings, "enterprise-1-day")
    assert total["suggestions"] == 6
    rows = opened.read_sync(lambda db: db.all("SELECT * FROM report"))
    assert all(row["made_at"] for row in rows)
    assert sorted(each.name for each in folder.iterdir()) == sorted(
        f"{row['id']}.ndjson" for row in rows
    )


async def test_reports_that_another_worker_gave_up_leave_their_day_due(
    opened: Store, world: Using, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.write_sync(usage.record, some(world))
    finish = reports.finish

    def late(db: Connection, made: Any) -> None:
        # This worker's claim of the job has ended, and the next worker has begun.
        reports.give_up(db)
        finish(db, made)

    with monkeypatch.context() as patched:
        patched.setattr(reports, "finish", late)
        with pytest.raises(Missing):
            await make(opened, settings)
    await make(opened, settings)
    assert lines(opened, world, settings, "enterprise-1-day")[0]["suggestions"] == 6


async def test_a_report_that_cannot_be_made_keeps_back_no_other(
    opened: Store, world: Using, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.write_sync(usage.record, [*some(world), world.row(BEFORE, suggestions=1)])
    begin = reports.begin

    def failing(db: Connection, kinds: Any, enterprise_id: int, first: int, *given: Any) -> Any:
        if first == usage_days.of_iso(BEFORE):
            raise ValueError("a mistake")
        return begin(db, kinds, enterprise_id, first, *given)

    monkeypatch.setattr(reports, "begin", failing)
    with pytest.raises(ValueError, match="a mistake"):
        await make(opened, settings)
    assert current(opened, world, "users-1-day") is not None
    assert current(opened, world, "users-1-day", BEFORE) is None


async def test_cancelled_it_leaves_nothing(
    opened: Store, world: Using, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.write_sync(usage.record, some(world))
    reached = asyncio.Event()

    async def hanging(self: object, lines: object) -> None:
        reached.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as patched:
        patched.setattr(report_file.ReportDraft, "add", hanging)
        task = asyncio.create_task(make(opened, settings))
        await reached.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert list(report_files.folder(settings.data_dir).iterdir()) == []
    await make(opened, settings)
    assert len(lines(opened, world, settings, "users-1-day")) > 2


async def test_old_reports_are_dropped(
    opened: Store, world: Using, settings: WorkerSettings, clock: MovableClock
) -> None:
    opened.write_sync(usage.record, [world.row(BEFORE), world.row(DAY)])
    await make(opened, settings)
    opened.write_sync(usage.record, [world.row(DAY, lines=7)])
    await make(opened, settings)
    stray = report_files.path(settings.data_dir, 4711)
    stray.write_bytes(b"of a database that was here before")

    def there() -> list[int]:
        kept = opened.read_sync(lambda db: db.tuples("SELECT id FROM report ORDER BY id"))
        assert [each for (each,) in kept] == report_files.ids(settings.data_dir)
        return report_files.ids(settings.data_dir)

    await prune(opened, settings)
    every = there()
    assert len(every) == 16
    # Replaced reports are removed when links to them have expired.
    clock.advance(2 * 3600 + 1)
    await prune(opened, settings)
    left = there()
    assert left == [*every[:4], *every[10:]]
    clock.advance(364 * 86_400)
    await prune(opened, settings)
    assert there() == left
    clock.advance(86_400)
    await prune(opened, settings)
    assert there() == every[10:]
    assert opened.read_sync(lambda db: db.value("SELECT count(*) FROM usage_day")) == 1
    clock.advance(86_400)
    await prune(opened, settings)
    assert there() == []
    assert opened.read_sync(lambda db: db.value("SELECT count(*) FROM usage")) == 0
    assert opened.read_sync(lambda db: db.value("SELECT count(*) FROM report_part")) == 0


async def test_reports_are_made_shortly_after_midnight(
    opened: Store, world: Using, settings: WorkerSettings, clock: MovableClock
) -> None:
    (job,) = [one for one in build_jobs(JobContext(opened, settings)) if one.name == "reports"]
    assert isinstance(job.when, CalendarTrigger)
    due = opened.read_sync(lambda db: job.when.due(db, None))
    assert due == parse("2026-11-22T00:10:00Z")
    opened.write_sync(usage.record, [world.row("2026-11-21")])
    clock.advance((due - clock.now()) / SECOND)
    await job.run()
    assert current(opened, world, "users-1-day", "2026-11-21") is not None
