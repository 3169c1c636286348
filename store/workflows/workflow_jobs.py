"""Jobs of workflow runs."""

from collections.abc import Mapping
from typing import Any

from store.database import upsert
from store.database.connection import Connection, Row

JOB = (
    "id, repo_id, number, run_id, name, path, status, attempt, signed, conclusion, details,"
    " created_at"
)
DIVIDED = " / "
"""Separates a job's name in its path from the jobs that call its workflow, outermost first."""


def get(db: Connection, repo_id: int, number: int) -> Row | None:
    """Return the repository's job with this id on the platform, or None."""
    return db.find(f"SELECT {JOB} FROM workflow_job", repo_id=repo_id, number=number)


def put(
    db: Connection, run: Row, number: int, before: Row | None, fields: Mapping[str, Any]
) -> Row:
    """Update the job that `get` has returned before, or create it in a run."""
    if before is not None:
        upsert.update(db, "workflow_job", before, fields)
        return {**before, **fields}
    values = {
        "repo_id": run["repo_id"],
        "number": number,
        "run_id": run["id"],
        "name": "",
        "path": "",
        "status": "queued",
        "created_at": db.now,
        **fields,
    }
    upsert.insert_if_absent(db, "workflow_job", values, "repo_id, number")
    made = get(db, run["repo_id"], number)
    assert made is not None
    return made
