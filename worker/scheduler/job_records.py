"""The records of jobs: when each is due by its trigger and by what the store has of it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from store import Connection, Row
from store.clock import earliest
from store.jobs import jobs
from store.jobs.jobs import JobSchedule
from worker.scheduler.triggers import Trigger


@dataclass(frozen=True, slots=True)
class ScheduledJob:
    """A job and its trigger. An interrupted run is repeated."""

    name: str
    when: Trigger
    run: Callable[[], Awaitable[None]]


class JobRecord(NamedTuple):
    """A job with its row, and whether the row differs from the stored one."""

    job: ScheduledJob
    row: Row
    changed: bool

    @property
    def wanted_at(self) -> int | None:
        """Return when the job is due or was requested, whichever is earlier."""
        return earliest(self.row["asked_at"], self.row["due_at"])


def list_records(db: Connection, table: Sequence[ScheduledJob]) -> list[JobRecord]:
    """Return the records of these jobs, in the order of their due times."""
    known = {row["name"]: row for row in jobs.every(db)}
    found = [_record(db, job, known.get(job.name)) for job in table]
    return sorted(found, key=lambda record: (record.wanted_at or 0, record.job.name))


def _record(db: Connection, job: ScheduledJob, row: Row | None) -> JobRecord:
    if row is not None and jobs.is_claimed(row, db.now):
        return JobRecord(job, row, False)
    due_at, words = job.when.due(db, row), job.when.words
    if row is None:
        return JobRecord(job, jobs.new_row(job.name, words, due_at), True)
    changed = (row["due_at"], row["schedule"]) != (due_at, words)
    return JobRecord(job, row | {"due_at": due_at, "schedule": words}, changed)


def save_records(db: Connection, table: Sequence[ScheduledJob]) -> list[JobRecord]:
    """Store the records that have changed, and return all."""
    records = list_records(db, table)
    rows = [record.row for record in records if record.changed]
    jobs.save_schedules(
        db, [JobSchedule(row["name"], row["schedule"], row["due_at"]) for row in rows]
    )
    return records
