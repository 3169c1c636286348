"""Jobs of workflow runs, with the members of their runs and check runs that the API shows."""

from store.database import paging
from store.database.connection import Connection, Row, prefixed
from store.workflows.workflow_jobs import JOB

JOBS = (
    f"SELECT {prefixed('j', JOB)}, w.number AS run_number, w.name AS workflow_name,"
    " w.head_branch, w.head_sha, c.number AS check_run_number"
    " FROM workflow_job j JOIN workflow_run w ON w.id = j.run_id"
    # The platform gives a job and its check run the same id.
    " LEFT JOIN check_run c ON c.repo_id = j.repo_id AND c.number = j.number"
)


def find(db: Connection, repo_id: int, number: int) -> Row | None:
    """Return the repository's job with this id on the platform, or None."""
    return db.one(
        f"{JOBS} WHERE j.repo_id = :repo_id AND j.number = :number", repo_id=repo_id, number=number
    )


def page(db: Connection, run_id: int, *, attempt: int | None, limit: int, offset: int) -> list[Row]:
    """Return a page of a run's jobs, in the order of their attempts and ids.

    They are the jobs of one attempt. If `attempt` is None, they are the jobs of all attempts.
    """
    where, given = _where(run_id, attempt)
    sql = f"{JOBS} WHERE {where} ORDER BY j.attempt, j.number"
    return paging.page(db, sql, limit, offset, **given)


def count(db: Connection, run_id: int, *, attempt: int | None) -> int:
    where, given = _where(run_id, attempt)
    return db.number(f"SELECT count(*) FROM workflow_job j WHERE {where}", **given)


def _where(run_id: int, attempt: int | None) -> tuple[str, Row]:
    return paging.conditions({"j.run_id = :run_id": run_id, "j.attempt = :attempt": attempt})
