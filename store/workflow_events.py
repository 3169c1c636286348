"""Workflow runs and jobs as platforms tell of them, and who holds which concurrency group by it."""

from typing import Any

from store import concurrency_members, concurrency_told, foreign, workflow_runs
from store.concurrency_members import Seat
from store.concurrency_told import Otherwise
from store.connection import Connection, Row
from store.workflow_runs import COMPLETED

STATUSES = ("queued", "in_progress", COMPLETED, "requested", "waiting", "pending")
# Of what is told of one moment, the later; others are 0.
RANK = {"in_progress": 1, COMPLETED: 2}
NAME = foreign.text(255, 1)
RUN: foreign.Readers = {
    "name": NAME,
    "status": foreign.one_of(*STATUSES),
    "attempt": ("run_attempt", foreign.number),
    "created_at": foreign.moment,
    "told_at": ("updated_at", foreign.moment),
}
JOB: foreign.Readers = {"name": foreign.text(1_000, 1), "status": foreign.one_of(*STATUSES)}


def run_told(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Take up an event of a workflow run."""
    given = foreign.part(payload, "workflow_run") or {}
    number = foreign.one(given, "id", foreign.number)
    if number is None:
        return
    fields = {**_named(payload, given), **foreign.fields(given, RUN)}
    before = workflow_runs.get(db, repo["id"], number)
    if before is not None and _outdated(before, fields):
        return
    run = workflow_runs.put(db, repo["id"], number, fields)
    if before is not None and run["attempt"] > before["attempt"]:
        # What the attempt before held is not this one's.
        concurrency_members.leave_all(db, run["id"])
    told = concurrency_told.member(payload, given)
    concurrency_told.configured(db, run, told)
    if run["status"] == COMPLETED:
        told = {**told, "status": COMPLETED, "reusable": None}
        concurrency_members.leave_all(db, run["id"])
    concurrency_told.called(db, run, told, event)
    concurrency_told.stand(db, run, Seat(run["id"]), told, _of_run(run, fields, event))


def _outdated(before: Row, fields: Row) -> bool:
    """Whether this was so before what is kept; what tells no time is believed."""
    if "told_at" not in fields:
        return bool(fields.get("attempt", before["attempt"]) < before["attempt"])
    return _moment(before | fields) < _moment(before)


def _moment(run: Row) -> tuple[int, int, int]:
    return run["attempt"], run["told_at"] or 0, RANK.get(run["status"], 0)


def _named(payload: dict[str, Any], given: dict[str, Any]) -> Row:
    """The name of a run that has none of its own."""
    workflow = foreign.part(payload, "workflow") or {}
    name = foreign.one(workflow, "name", NAME) or foreign.one(given, "display_title", NAME)
    return {} if name is None else {"name": name}


def _of_run(run: Row, fields: Row, event: Row) -> Otherwise:
    known = {"created_at": event["received_at"], "told_at": event["received_at"], **fields}
    return Otherwise(
        known["created_at"],
        known["told_at"],
        holds=run["status"] == "in_progress",
    )


def job_told(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Take up an event of a job, and make its run known."""
    given = foreign.part(payload, "workflow_job") or {}
    number = foreign.one(given, "id", foreign.number)
    run_number = foreign.one(given, "run_id", foreign.number)
    if number is None or run_number is None:
        return
    attempt = foreign.one(given, "run_attempt", foreign.number) or 1
    run = _run_of(db, repo, run_number, attempt, given)
    told = concurrency_told.member(payload, given)
    job = _job_of(db, run, number, given, told)
    if job is None:
        return
    concurrency_told.configured(db, run, told)
    over = run["status"] == COMPLETED or attempt < run["attempt"]
    if not over:
        concurrency_told.called(db, run, told, event)
    if over or job["status"] == COMPLETED:
        told = {**told, "status": COMPLETED}
    seat = Seat(run["id"], job_id=job["id"])
    concurrency_told.stand(db, run, seat, told, _of_job(job, given, event))


def _run_of(db: Connection, repo: Row, number: int, attempt: int, given: dict[str, Any]) -> Row:
    run = workflow_runs.get(db, repo["id"], number)
    if run is not None and attempt <= run["attempt"]:
        return run
    if run is not None:
        concurrency_members.leave_all(db, run["id"])
    name = foreign.one(given, "workflow_name", NAME)
    named = {} if name is None or run is not None else {"name": name}
    fields = {"attempt": attempt, "status": "queued", **named}
    return workflow_runs.put(db, repo["id"], number, fields)


def _job_of(
    db: Connection, run: Row, number: int, given: dict[str, Any], told: dict[str, Any]
) -> Row | None:
    """The job, changed as it is told of; None for what is another run's."""
    fields = foreign.fields(given, JOB)
    path = foreign.one(told, "path", concurrency_told.PATH) or fields.get("name")
    fields |= {} if path is None else {"path": path}
    before = workflow_runs.job(db, run["repo_id"], number)
    if before is not None:
        if before["run_id"] != run["id"]:
            return None
        if RANK.get(fields.get("status", ""), 0) < RANK.get(before["status"], 0):
            # Another attempt is another job: this was so before.
            fields.pop("status", None)
    return workflow_runs.put_job(db, run, number, fields)


def _of_job(job: Row, given: dict[str, Any], event: Row) -> Otherwise:
    arrived = event["received_at"]
    return Otherwise(
        foreign.one(given, "created_at", foreign.moment) or arrived,
        foreign.one(given, "started_at", foreign.moment) or arrived,
        holds=job["status"] == "in_progress",
    )
