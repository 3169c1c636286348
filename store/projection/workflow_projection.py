"""Projection of workflows, their runs and jobs, and of the concurrency groups that they hold."""

from typing import Any

import orjson

from store.database import payload_reader
from store.database.connection import Connection, Row
from store.delivery import sources
from store.projection import concurrency_projection
from store.projection.concurrency_projection import MemberStatus
from store.workflows import (
    concurrency_members,
    job_details,
    run_details,
    workflow_jobs,
    workflow_runs,
    workflows,
)
from store.workflows.concurrency_members import GroupMember
from store.workflows.workflow_runs import COMPLETED

STATUSES = ("queued", "in_progress", COMPLETED, "requested", "waiting", "pending")
# If two payloads have the same time, the one with the higher rank is later. Other statuses have 0.
RANK = {"in_progress": 1, COMPLETED: 2}
NAME = payload_reader.text(255, 1)
ATTEMPT = ("run_attempt", payload_reader.positive)
RUN: payload_reader.Readers = {
    "name": NAME,
    "status": payload_reader.one_of(*STATUSES),
    "attempt": ATTEMPT,
    "created_at": payload_reader.timestamp,
    "reported_at": ("updated_at", payload_reader.timestamp),
}
# The members of a job that describe its run.
OF_JOB = {name: run_details.COLUMNS[name] for name in ("head_sha", "head_branch")}
JOB: payload_reader.Readers = {
    "name": payload_reader.text(1_000, 1),
    "status": payload_reader.one_of(*STATUSES),
    "attempt": ATTEMPT,
}
# How a job, or a run, begins anew under its id.
BEGUN = {"status": "queued", "conclusion": None}


def project_run(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    given = payload_reader.read_part(payload, "workflow_run")
    number = payload_reader.read_field(given, "id", payload_reader.number)
    if number is None:
        return
    workflows.report(db, repo["id"], payload_reader.read_part(payload, "workflow"), given)
    fields = {**_named(payload, given), **payload_reader.read_fields(given, RUN)}
    before = workflow_runs.get(db, repo["id"], number)
    signed = sources.signed_of(event, before)
    if before is not None and before["signed"] >= signed and _outdated(before, fields):
        return
    if before is not None and before["signed"] > signed:
        run = before
    else:
        fields |= run_details.read(db, given, before)
        marked = {**sources.mark(before, signed), **fields}
        run = workflow_runs.put(db, repo["id"], number, before, marked)
    if before is not None and run["attempt"] != before["attempt"]:
        # Another attempt does not keep the groups of the one before.
        concurrency_members.leave_all(db, run["id"])
    reported = concurrency_projection.member(payload, given)
    concurrency_projection.configured(db, run, reported)
    if run["status"] == COMPLETED:
        reported = {**reported, "status": COMPLETED, "reusable": None}
        concurrency_members.leave_all(db, run["id"])
    concurrency_projection.called(db, run, reported, event)
    concurrency_projection.apply_status(
        db, run, GroupMember(run["id"]), reported, _of_run(run, fields, event)
    )


def _outdated(before: Row, fields: Row) -> bool:
    """Return whether the payload is older than the stored run. Without a time, it is trusted."""
    if "reported_at" not in fields:
        return bool(fields.get("attempt", before["attempt"]) < before["attempt"])
    return _moment(before | fields) < _moment(before)


def _moment(run: Row) -> tuple[int, int, int]:
    return run["attempt"], run["reported_at"] or 0, _rank(run)


def _named(payload: dict[str, Any], given: dict[str, Any]) -> Row:
    """Return the workflow's name or the display title, for a run without its own name."""
    workflow = payload_reader.read_part(payload, "workflow")
    name = payload_reader.read_field(workflow, "name", NAME) or payload_reader.read_field(
        given, "display_title", NAME
    )
    return {} if name is None else {"name": name}


def _of_run(run: Row, fields: Row, event: Row) -> MemberStatus:
    known = {"created_at": event["received_at"], "reported_at": event["received_at"], **fields}
    return MemberStatus(
        known["created_at"],
        known["reported_at"],
        holds=run["status"] == "in_progress",
    )


def project_job(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project an event of a job, and create its run if it is unknown."""
    given = payload_reader.read_part(payload, "workflow_job")
    number = payload_reader.read_field(given, "id", payload_reader.number)
    run_number = payload_reader.read_field(given, "run_id", payload_reader.number)
    if number is None or run_number is None:
        return
    attempt = payload_reader.read_field(given, *ATTEMPT) or 1
    run = _run_of(db, repo, run_number, attempt, given, event)
    if run is None:
        return
    reported = concurrency_projection.member(payload, given)
    job = _job_of(db, run, number, given, reported, event)
    if job is None:
        return
    concurrency_projection.configured(db, run, reported)
    over = run["status"] == COMPLETED or attempt < run["attempt"]
    if not over:
        concurrency_projection.called(db, run, reported, event)
    if over or job["status"] == COMPLETED:
        reported = {**reported, "status": COMPLETED}
    seat = GroupMember(run["id"], job_id=job["id"])
    concurrency_projection.apply_status(db, run, seat, reported, _of_job(job, given, event))


def _run_of(
    db: Connection, repo: Row, number: int, attempt: int, given: dict[str, Any], event: Row
) -> Row | None:
    """Return the job's run. Return None for an unsigned event of a later attempt of a signed run.

    A source's event replaces what an unsigned one says of the run, as that may be invented.
    """
    run = workflow_runs.get(db, repo["id"], number)
    commit = payload_reader.read_fields(given, OF_JOB)
    signed = sources.signed_of(event, run)
    if run is not None and run["signed"] > signed:
        return run if attempt <= run["attempt"] else None
    if run is not None and attempt <= run["attempt"] and run["signed"] == signed:
        return _with_commit(db, run, commit)
    if run is not None:
        concurrency_members.leave_all(db, run["id"])
    begun = {**BEGUN, "attempt": attempt, **sources.mark(run, signed)}
    name = payload_reader.read_field(given, "workflow_name", NAME)
    named = {} if name is None or run is not None else {"name": name}
    return workflow_runs.put(db, repo["id"], number, run, {**begun, **named, **commit})


def _with_commit(db: Connection, run: Row, commit: Row) -> Row:
    """Give the run what it does not have of its commit."""
    unknown = {name: value for name, value in commit.items() if value and run[name] is None}
    return workflow_runs.put(db, run["repo_id"], run["number"], run, unknown) if unknown else run


def _job_of(
    db: Connection,
    run: Row,
    number: int,
    given: dict[str, Any],
    reported: dict[str, Any],
    event: Row,
) -> Row | None:
    """Create or update the job. Return None if it belongs to another run.

    A source's event replaces what an unsigned one says of the job, even of which run it is.
    """
    fields = payload_reader.read_fields(given, JOB)
    path = payload_reader.read_field(reported, "path", concurrency_projection.PATH) or fields.get(
        "name"
    )
    fields |= {} if path is None else {"path": path}
    before = workflow_jobs.get(db, run["repo_id"], number)
    signed = sources.signed_of(event, before)
    if before is not None and before["signed"] < signed:
        fields |= {"run_id": run["id"], "signed": signed}
        return _replaced(db, run, before, fields | job_details.read(given, {}))
    if before is not None and before["run_id"] != run["id"]:
        return None
    if before is not None and before["signed"] > signed:
        return before
    fields |= {"signed": signed}
    # No job has a later attempt than its run. A source's event may have corrected the run's.
    known = before and {**before, "attempt": min(before["attempt"], run["attempt"])}
    return workflow_jobs.put(db, run, number, before, _changes(known, fields, given))


def _replaced(db: Connection, run: Row, before: Row, fields: Row) -> Row:
    if before["run_id"] != run["id"]:
        concurrency_members.leave(db, GroupMember(before["run_id"], job_id=before["id"]))
    new = {"attempt": 1} | BEGUN | fields
    return workflow_jobs.put(db, run, before["number"], before, new)


def _changes(before: Row | None, fields: Row, given: dict[str, Any]) -> Row:
    """Return the columns that the payload changes. An older one changes the names alone."""
    if before is None:
        return fields | job_details.read(given, {})
    attempt, known = fields.get("attempt", before["attempt"]), before["attempt"]
    if attempt > known:
        return BEGUN | fields | job_details.read(given, {})
    if attempt < known or _rank(fields) < _rank(before):
        return {name: fields[name] for name in ("name", "path") if name in fields}
    return fields | job_details.read(given, orjson.loads(before["details"]))


def _rank(fields: Row) -> int:
    return RANK.get(fields.get("status", ""), 0)


def _of_job(job: Row, given: dict[str, Any], event: Row) -> MemberStatus:
    arrived = event["received_at"]
    return MemberStatus(
        payload_reader.read_field(given, "created_at", payload_reader.timestamp) or arrived,
        payload_reader.read_field(given, "started_at", payload_reader.timestamp) or arrived,
        holds=job["status"] == "in_progress",
    )
