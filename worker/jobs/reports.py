"""The job that makes the usage reports.

It makes reports of each past day with new usage, oldest day first, and then of the latest weeks. It
reads, writes and holds in memory a small batch at a time. If it is interrupted, it starts again
with the same day. A report is complete or does not exist.
"""

import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from store import Connection, Row, Store
from store.assistant import report_files, reports, usage_days, usage_names, usage_sums
from store.assistant.reports import OF_A_DAY, OF_A_WINDOW, PART, ReportPart
from store.assistant.usage_sums import SumBatch
from store.clock import HOUR, SECOND
from store.enterprises import enterprises
from store.errors import Busy, Unavailable
from worker.jobs import report_lines
from worker.jobs.report_file import ReportDraft, open_drafts
from worker.jobs.report_lines import EnterpriseTotals, ReportFrame
from worker.settings import WorkerSettings

log = logging.getLogger("tocsin.worker")

BATCH = 20

Read = Callable[[Connection, list[int], int], SumBatch]


@dataclass(frozen=True, slots=True)
class ReportTask:
    """Reports to make, about the days from `first` to `last` (days since 1970-01-01)."""

    kinds: tuple[str, ...]
    enterprise_id: int
    first: int
    last: int
    version: int
    day_ids: list[int]
    of_day: int | None = None
    """The id of the day, if these are daily reports. The day is marked as made with them."""


async def make(store: Store, settings: WorkerSettings, *, part_bytes: int = PART) -> None:
    """Make all reports that are due.

    Each is stored in parts of `part_bytes` bytes. If reports cannot be made, the others are made
    first, and the error is raised at the end.
    """
    report_files.clear(settings.data_dir, (store.clock.now() - HOUR) / SECOND)
    report_files.remove(settings.data_dir, await store.write(reports.give_up))
    failures = await _make_each(store, settings, part_bytes, usage_days.unmade, _of_day)
    failures += await _make_each(store, settings, part_bytes, usage_days.windows, _of_window)
    if failures:
        raise failures[0]


async def _make_each(
    store: Store,
    settings: WorkerSettings,
    part_bytes: int,
    rows: Callable[[Connection], list[Row]],
    task_of: Callable[[Connection, Row], ReportTask | None],
) -> list[Exception]:
    """Make the reports for each of these rows. Return the errors of those that cannot be made."""
    failures: list[Exception] = []
    for row in await store.read(rows):
        try:
            task = await store.read(task_of, row)
            await _make(store, settings.data_dir, task, part_bytes)
        except (Busy, Unavailable):
            raise
        except Exception as error:
            # The reports of others are made all the same.
            log.exception("reports cannot be made")
            failures.append(error)
    return failures


async def prune(store: Store, settings: WorkerSettings, now: int) -> None:
    """Delete reports, and their files, past their retention at the time `now` (microseconds).

    A replaced report is deleted when no link to it can be valid any more.
    """
    day = usage_days.of_moment(now - round(settings.keep_reports * SECOND))
    replaced = now - settings.report_link_seconds * SECOND - HOUR
    while gone := await store.write(_forget, day, replaced):
        report_files.remove(settings.data_dir, gone)
    # Delete files of reports that another machine deleted, or that a restored backup does not have.
    there = report_files.ids(settings.data_dir)
    report_files.remove(settings.data_dir, await store.read(reports.unknown, there))


def _forget(db: Connection, day: int, replaced: int) -> list[int]:
    return reports.forget(db, before_day=day, replaced_before=replaced, limit=BATCH)


def _of_day(db: Connection, found: Row) -> ReportTask | None:
    # The day is read again, because usage may have been added. The newer version is made, or the
    # day is due once more.
    row = usage_days.get(db, found["id"])
    if row is None:
        return None
    day = row["day"]
    return ReportTask(
        OF_A_DAY, row["enterprise_id"], day, day, row["version"], [row["id"]], of_day=row["id"]
    )


def _of_window(db: Connection, window: Row) -> ReportTask | None:
    """Return the reports to make for a row of `usage_days.windows`. Return None if they exist."""
    enterprise_id, last, version = window["enterprise_id"], window["last_day"], window["version"]
    there = [reports.latest(db, enterprise_id, kind) for kind in OF_A_WINDOW]
    if all(row and (row["last_day"], row["version"]) == (last, version) for row in there):
        return None
    first = last - usage_days.WINDOW + 1
    day_ids = usage_days.within(db, enterprise_id, first, last)
    return ReportTask(OF_A_WINDOW, enterprise_id, first, last, version, day_ids)


async def _make(store: Store, data_dir: Path, task: ReportTask | None, part_bytes: int) -> None:
    if task is None:
        return
    frame = await store.read(_frame, task)
    started = await store.write(
        reports.begin, task.kinds, task.enterprise_id, task.first, task.last, task.version
    )
    async with open_drafts(store, data_dir, started, part_bytes) as opened:
        await _fill(store, task.day_ids, frame, opened)
        made = [await draft.end() for draft in opened.values()]
    await store.write(_finish, task, made)
    slug, day = frame.head["enterprise"], usage_days.iso(task.last)
    log.info("reports of %s: %s until %s", slug, ", ".join(started), day)


def _frame(db: Connection, task: ReportTask) -> ReportFrame:
    enterprise = enterprises.get(db, task.enterprise_id)
    assert enterprise is not None, "its days go with it"
    return ReportFrame(
        report_lines.line_head(enterprise, task.first, task.last),
        usage_names.list_all(db, task.enterprise_id),
        enterprises.organizations(db, task.enterprise_id),
    )


def _finish(db: Connection, task: ReportTask, made: list[ReportPart]) -> None:
    reports.finish(db, made)
    if task.of_day is not None:
        usage_days.made(db, task.of_day, task.version)


async def _fill(
    store: Store, days: list[int], frame: ReportFrame, opened: dict[str, ReportDraft]
) -> None:
    by_kind = {kind.rsplit("-", 2)[0]: draft for kind, draft in opened.items()}
    tally = EnterpriseTotals()
    async for step in _steps(store, usage_sums.users, days):
        tally.add(step)
        await by_kind["users"].add(report_lines.user_lines(frame, step))
        if "user-teams" in by_kind:
            await by_kind["user-teams"].add(report_lines.team_lines(frame, step))
    await by_kind["enterprise"].add(tally.lines(frame))
    if "repos" in by_kind:
        async for step in _steps(store, usage_sums.of_repositories, days):
            await by_kind["repos"].add(report_lines.repository_lines(frame, step))


async def _steps(store: Store, read: Read, days: list[int]) -> AsyncIterator[SumBatch]:
    after: int | None = 0
    while after is not None:
        step = await store.read(read, days, after)
        yield step
        after = step.upto
