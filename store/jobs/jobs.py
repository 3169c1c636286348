"""Scheduled jobs: each runs once at its time, however many workers there are.

The schedule is stored, so that a restart or a jump of the clock loses nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from store.clock import HOUR, SECOND, SKEW
from store.database.backoff import backoff_delay
from store.database.connection import Connection, Row, json_array
from store.errors import Missing

JOBS_WAKEUP = -(1 << 62)
"""An id that no hook has. It wakes a worker that then looks for due jobs."""
# In microseconds. A worker extends its claim on a job before this has passed.
CLAIM_TIMEOUT = 60 * SECOND
# In seconds. A failed job is retried after the first delay, and later after the second at most.
FIRST_RETRY_DELAY, MAX_RETRY_DELAY = 60.0, 3600.0
COLUMNS = (
    "name, schedule, due_at, served_at, asked_at, held_until, holder, started_at, ended_at,"
    " outcome, error, failures, rests_until"
)
# A time that is too far ahead was written by a clock that was fast. It is ignored. SKEW is part of
# these limits: a worker that waited for another's claim sees one that is later than its own time.
LONGEST_CLAIM, LONGEST_REST = CLAIM_TIMEOUT + SKEW, HOUR + SKEW
FREE = "(held_until <= :now OR held_until > :now + :most)"
RETRY_DUE = "(rests_until <= :now OR rests_until > :now + :longest)"
READY = f"{FREE} AND (asked_at IS NOT NULL OR due_at <= :now) AND {RETRY_DUE}"
RUNNING = "name = :name AND holder = :holder AND outcome IS NULL"
BOUNDS = {"most": LONGEST_CLAIM, "longest": LONGEST_REST}


@dataclass(frozen=True, slots=True)
class JobSchedule:
    """The next time at which a job is due, and its schedule in words."""

    name: str
    schedule: str
    due_at: int | None


def notify_worker(db: Connection) -> None:
    """Wake a worker after the commit, because a job may be due earlier than it knows."""
    db.wake_after_commit([JOBS_WAKEUP])


def every(db: Connection) -> list[Row]:
    """Return every job that was ever scheduled, by name (COLUMNS)."""
    return db.all(f"SELECT {COLUMNS} FROM job ORDER BY name")


def get(db: Connection, name: str) -> Row | None:
    """Return the job with this name, or None."""
    return db.one(f"SELECT {COLUMNS} FROM job WHERE name = :name", name=name)


def last_end(db: Connection) -> int | None:
    """Return when the latest run of a job, or the last discounted outage, ended, or None.

    Some jobs run every few seconds. A time that is far ahead was written by a clock that was fast.
    It is ignored.
    """
    return db.optional_number(
        "SELECT max(ended) FROM (SELECT ended_at AS ended FROM job WHERE ended_at IS NOT NULL"
        " UNION ALL SELECT discounted_at FROM job WHERE discounted_at > 0) AS w"
        " WHERE ended <= :ahead",
        ahead=db.now + HOUR,
    )


def record_discount(db: Connection) -> None:
    """Record that an outage that ends now is discounted."""
    db.execute("UPDATE job SET discounted_at = :now WHERE name = (SELECT min(name) FROM job)")


def new_row(name: str, schedule: str, due_at: int | None) -> Row:
    """Return the row of a job that was never scheduled."""
    row: Row = dict.fromkeys(COLUMNS.split(", "))
    zero = {"held_until": 0, "failures": 0, "rests_until": 0}
    return row | zero | {"name": name, "schedule": schedule, "due_at": due_at}


def save_schedules(db: Connection, plans: Iterable[JobSchedule]) -> None:
    """Store when these jobs are due. Claimed jobs stay as they are."""
    for each in plans:
        db.execute(
            "INSERT INTO job (name, schedule, due_at) VALUES (:name, :schedule, :due_at)"
            " ON CONFLICT (name) DO UPDATE SET schedule = excluded.schedule,"
            " due_at = excluded.due_at"
            " WHERE job.held_until <= :now OR job.held_until > :now + :most",
            name=each.name,
            schedule=each.schedule,
            due_at=each.due_at,
            most=LONGEST_CLAIM,
        )


def forget_others(db: Connection, names: Iterable[str]) -> None:
    """Delete every job that is not among these, unless a worker has claimed it."""
    db.execute(
        f"DELETE FROM job WHERE {FREE} AND name NOT {db.among('names', 'text')}",
        names=json_array(names),
        most=LONGEST_CLAIM,
    )


def is_claimed(row: Row, now: int) -> bool:
    return bool(now < row["held_until"] <= now + LONGEST_CLAIM)


def outcome_of(row: Row, now: int) -> str | None:
    """Return the last run's outcome (running, done, failed or stopped), or None if it never ran."""
    if row["started_at"] is None or row["outcome"] is not None:
        found: str | None = row["outcome"]
        return found
    return "running" if is_claimed(row, now) else "stopped"


def duration(row: Row) -> int | None:
    """Return how long the last run took, in microseconds, or None if it has not ended."""
    if row["started_at"] is None or row["outcome"] is None:
        return None
    return max(int(row["ended_at"]) - int(row["started_at"]), 0)


def ready_at(row: Row, now: int) -> int | None:
    """Return from when on a job can be claimed, or None if it is not due. READY is this in SQL."""
    if is_claimed(row, now):
        return int(row["held_until"])
    due_at = now if row["asked_at"] is not None else row["due_at"]
    if due_at is None:
        return None
    rests = now < row["rests_until"] <= now + LONGEST_REST
    return max(due_at, row["rests_until"]) if rests else int(due_at)


def claim(db: Connection, name: str, holder: str) -> Row | None:
    """Claim a job that is due or requested. Return None if it is neither, or claimed already."""
    return db.one(
        "UPDATE job SET holder = :holder, held_until = :now + :hold, started_at = :now,"
        # `ended_at` stays the end of the run before, until this one ends.
        " outcome = NULL, error = NULL"
        f" WHERE name = :name AND {READY} RETURNING {COLUMNS}",
        name=name,
        holder=holder,
        hold=CLAIM_TIMEOUT,
        **BOUNDS,
    )


def extend_claim(db: Connection, name: str, holder: str) -> bool:
    """Extend a claim. Return False if another worker has the job now."""
    kept = db.execute(
        f"UPDATE job SET held_until = :now + :hold WHERE {RUNNING}",
        name=name,
        holder=holder,
        hold=CLAIM_TIMEOUT,
    )
    return kept > 0


def complete(db: Connection, job: Row, due_at: int | None) -> None:
    """Mark a claimed job as done. `due_at` is when it is due next."""
    # If the job was run by request before its time, it still runs at its time.
    on_time = job["due_at"] is not None and job["due_at"] <= job["started_at"]
    served_at = job["started_at"] if on_time else job["served_at"]
    _end(db, job, "done", None, due_at=due_at, served_at=served_at, failures=0, rests_until=0)


def fail(db: Connection, job: Row, error: str) -> None:
    """Mark a claimed job as failed. It stays due or requested, and is retried after a delay."""
    failures = job["failures"] + 1
    rest = backoff_delay(failures, first=FIRST_RETRY_DELAY, longest=MAX_RETRY_DELAY)
    _end(
        db,
        job,
        "failed",
        error,
        due_at=job["due_at"],
        served_at=job["served_at"],
        failures=failures,
        rests_until=db.now + round(rest * SECOND),
        asked_at=job["asked_at"],
    )


def release(db: Connection, job: Row) -> None:
    """Mark a claimed job as stopped. It is due as before."""
    kept = {name: job[name] for name in ("due_at", "served_at", "failures", "rests_until")}
    _end(db, job, "stopped", None, asked_at=job["asked_at"], **kept)


def _end(
    db: Connection,
    job: Row,
    outcome: str,
    error: str | None,
    *,
    due_at: int | None,
    served_at: int | None,
    failures: int,
    rests_until: int,
    asked_at: int | None = None,
) -> None:
    # If another run was requested after the claim, the request stays, and the job does not rest.
    # The request of the claim tells it apart. Comparing times would not: a clock may be set back.
    again = "coalesce(asked_at, -1) <> CAST(:claimed AS BIGINT)"
    db.execute(
        "UPDATE job SET held_until = 0, ended_at = :now, outcome = :outcome, error = :error,"
        " due_at = :due_at, served_at = :served_at, failures = :failures, rests_until ="
        f" CASE WHEN {again} THEN 0 ELSE CAST(:rests_until AS BIGINT) END, asked_at ="
        f" CASE WHEN {again} THEN asked_at ELSE CAST(:asked_at AS BIGINT) END"
        f" WHERE {RUNNING}",
        name=job["name"],
        holder=job["holder"],
        claimed=-1 if job["asked_at"] is None else job["asked_at"],
        outcome=outcome,
        error=error,
        due_at=due_at,
        served_at=served_at,
        failures=failures,
        rests_until=rests_until,
        asked_at=asked_at,
    )


def request_run(db: Connection, name: str) -> None:
    """Request that a job runs now, also if it rests after a failure.

    Raises Missing if no worker has scheduled it yet.
    """
    asked = "UPDATE job SET asked_at = :now, rests_until = 0 WHERE name = :name"
    if not db.execute(asked, name=name):
        raise Missing(f"there is no job {name!r}")
    notify_worker(db)


def release_all(db: Connection) -> int:
    """End the claims that a crash has left. Return how many.

    There must be no other worker.
    """
    return db.execute(
        "UPDATE job SET held_until = 0, ended_at = :now, outcome = 'stopped'"
        " WHERE started_at IS NOT NULL AND outcome IS NULL"
    )
