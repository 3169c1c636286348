"""Workflow runs."""

from collections.abc import Mapping
from typing import Any

from store.database import upsert
from store.database.connection import Connection, Row
from store.workflows import run_counts

RUN = (
    "id, repo_id, number, name, status, attempt, signed, groups_named, conclusion, event,"
    " head_branch, head_sha, suite_number, workflow_number, actor_id, details, created_at,"
    " reported_at"
)
COMPLETED = "completed"


def get(db: Connection, repo_id: int, number: int) -> Row | None:
    """Return the repository's run with this id on the platform, or None."""
    return db.find(f"SELECT {RUN} FROM workflow_run", repo_id=repo_id, number=number)


def attempt(db: Connection, run_id: int, number: int) -> Row | None:
    """Return the `number` of an attempt if the run has had it, or None."""
    latest = db.number("SELECT attempt FROM workflow_run WHERE id = :id", id=run_id)
    return {"number": number} if 0 < number <= latest else None


def put(
    db: Connection, repo_id: int, number: int, before: Row | None, fields: Mapping[str, Any]
) -> Row:
    """Update the run that `get` has returned before, or create it. A new one is queued."""
    if before is not None:
        after = {**before, **fields}
        run_counts.move(db, before, after)
        upsert.update(db, "workflow_run", before, fields)
        return after
    values = {
        "repo_id": repo_id,
        "number": number,
        "name": "",
        "status": "queued",
        "created_at": db.now,
        **fields,
    }
    added = upsert.insert_if_absent(db, "workflow_run", values, "repo_id, number")
    made = get(db, repo_id, number)
    assert made is not None
    if added is not None:
        run_counts.add(db, made)
    return made
