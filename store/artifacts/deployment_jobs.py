"""Jobs to record a cluster's deployments: one for each request, and one at a time for a cluster.

A job's deployments are rows. A batch of them is deleted, recorded and counted in one transaction.
So a worker that is killed leaves nothing half done, and the next one continues.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from store.artifacts import artifacts, deployment_records
from store.artifacts.artifacts import Cause
from store.artifacts.deployment_records import Deployment, DeploymentPlace
from store.database.connection import Connection, Row
from store.errors import Busy, Conflict
from store.jobs import jobs
from store.repositories import repositories

COLUMNS = (
    "id, organization_id, account_id, cluster, logical_environment, physical_environment, status,"
    " total_count, errors, created_at, started_at, ended_at"
)
BUSY = "A job is already in progress for this cluster"


def create(
    db: Connection,
    organization_id: int,
    account_id: int | None,
    place: DeploymentPlace,
    wanted: Sequence[Deployment],
    errors: Sequence[Any] = (),
) -> int:
    """Create a job to record these deployments, which have different names. Return its id.

    `errors` are reported together with later ones. A job without deployments has ended at once.
    Otherwise raises Conflict if the cluster has an unfinished job.
    """
    ended = None if wanted else db.now
    made = db.optional_number(
        "INSERT INTO deployment_job (organization_id, account_id, cluster, logical_environment,"
        " physical_environment, status, total_count, errors, created_at, started_at, ended_at)"
        " VALUES (:organization_id, :account_id, :cluster, :logical, :physical, :status, 0,"
        " :errors, :now, :ended, :ended)"
        " ON CONFLICT DO NOTHING RETURNING id",
        organization_id=organization_id,
        account_id=account_id,
        cluster=place.cluster,
        logical=place.logical_environment,
        physical=place.physical_environment,
        status="pending" if wanted else "completed",
        ended=ended,
        errors=orjson.dumps(list(errors)).decode(),
    )
    if made is None:
        raise Conflict(BUSY)
    names = [one.deployment_name for one in wanted]
    known = deployment_records.repository_ids(db, organization_id, place, names)
    entries = [replace(one, replaces=known.get(one.deployment_name)) for one in wanted]
    rows = [(made, position, one.packed()) for position, one in enumerate(entries)]
    db.insert_many("deployment_job_entry", "job_id, position, content", rows)
    jobs.notify_worker(db)
    return made


def get(db: Connection, organization_id: int, job_id: int) -> Row | None:
    """Return the organization's job with this id (COLUMNS, errors as a list), or None."""
    row = db.find(
        f"SELECT {COLUMNS} FROM deployment_job", id=job_id, organization_id=organization_id
    )
    return None if row is None else _opened(row)


def next_due(db: Connection) -> int | None:
    """Return since when the first unfinished job has been waiting, or None."""
    return db.optional_number(
        "SELECT created_at FROM deployment_job WHERE ended_at IS NULL"
        " ORDER BY created_at, id LIMIT 1"
    )


def begin(db: Connection) -> Row | None:
    """Return the first unfinished job, or None. Its status becomes `processing`."""
    row = db.one(
        f"SELECT {COLUMNS} FROM deployment_job WHERE ended_at IS NULL"
        " ORDER BY created_at, id LIMIT 1"
    )
    if row is not None and row["status"] == "pending":
        db.update("deployment_job", row["id"], status="processing", started_at=db.now)
    return None if row is None else _opened(row)


def advance(db: Connection, job: Row, limit: int) -> list[Row] | None:
    """Record up to `limit` deployments of a job. Return their records.

    If none is left, end the job and return None. Deployments of repositories that are gone become
    errors, and so do those whose name got a record of another repository after the request: its
    account may not see that one. Raises Busy if another worker has taken some, which may come back.
    """
    wanted = _take(db, job["id"], limit)
    if not wanted:
        _end(db, job["id"], "completed")
        return None
    place = DeploymentPlace(job["logical_environment"], job["physical_environment"], job["cluster"])
    artifacts.lock(db, job["organization_id"])
    causes = _causes(db, job, place, wanted)
    good = [one for one in wanted if one.deployment_name not in causes]
    rows = deployment_records.put(db, job["organization_id"], place, good)
    left_out = [
        _left_out(one, causes[one.deployment_name])
        for one in wanted
        if one.deployment_name in causes
    ]
    _count(db, job["id"], len(good), left_out)
    return rows


def _causes(
    db: Connection, job: Row, place: DeploymentPlace, wanted: Sequence[Deployment]
) -> dict[str, Cause]:
    """Return name to the cause why a deployment cannot be recorded any more."""
    there = repositories.of(db, {one.repo_id for one in wanted})
    names = [one.deployment_name for one in wanted]
    known = deployment_records.repository_ids(db, job["organization_id"], place, names)
    found: dict[str, Cause] = {}
    for one in wanted:
        if not _is_there(job, there.get(one.repo_id)):
            found[one.deployment_name] = "not_found"
        elif known.get(one.deployment_name) not in (None, one.repo_id, one.replaces):
            found[one.deployment_name] = "unauthorized"
    return found


def fail(db: Connection, job: Row, message: str) -> None:
    """End a job that cannot be done. Its remaining deployments are deleted."""
    db.delete("deployment_job_entry", job_id=job["id"])
    _count(db, job["id"], 0, [{"message": message}])
    _end(db, job["id"], "failed")


def forget(db: Connection, before: int) -> int:
    """Delete jobs that ended before a time. Return how many."""
    return db.execute("DELETE FROM deployment_job WHERE ended_at < :before", before=before)


def _opened(row: Row) -> Row:
    return row | {"errors": orjson.loads(row["errors"])}


def _take(db: Connection, job_id: int, limit: int) -> list[Deployment]:
    """Remove and return the next deployments, in order. Raises Busy if they are not free."""
    chosen = (
        "SELECT e.position FROM deployment_job_entry e WHERE e.job_id = :job_id"
        f" ORDER BY e.position LIMIT :limit{db.skip_locked}"
    )
    rows = db.tuples(
        "DELETE FROM deployment_job_entry WHERE job_id = :job_id"
        f" AND position {db.chosen(chosen)} RETURNING position, content",
        job_id=job_id,
        limit=limit,
    )
    _check_free(db, job_id, max((position for position, _ in rows), default=None))
    return [deployment_records.unpacked(content) for _, content in sorted(rows)]


def _check_free(db: Connection, job_id: int, last: int | None) -> None:
    """Raise Busy if another worker has taken deployments up to `last`, or the last ones (None).

    They come back if its transaction fails. Waiting for it would stop all writes of this process.
    """
    first = db.value(
        "SELECT min(position) FROM deployment_job_entry WHERE job_id = :job_id", job_id=job_id
    )
    if first is not None and (last is None or first < last):
        raise Busy("another worker has taken deployments of the job")


def _is_there(job: Row, repo: Row | None) -> bool:
    return repo is not None and repo["owner_id"] == job["organization_id"]


def _left_out(one: Deployment, cause: Cause) -> dict[str, Any]:
    return {
        "cause": cause,
        "deployment": {
            "name": one.name,
            "digest": one.digest,
            "deployment_name": one.deployment_name,
            "version": one.version,
            "status": one.status,
            "github_repository": None,
            "tags": one.tags or {},
            "runtime_risks": one.runtime_risks or [],
        },
    }


def _count(db: Connection, job_id: int, written: int, errors: Sequence[Any]) -> None:
    before = db.value("SELECT errors FROM deployment_job WHERE id = :id", id=job_id)
    db.execute(
        "UPDATE deployment_job SET total_count = total_count + :written, errors = :errors"
        " WHERE id = :id",
        written=written,
        errors=orjson.dumps([*orjson.loads(before), *errors]).decode(),
        id=job_id,
    )


def _end(db: Connection, job_id: int, status: str) -> None:
    db.update("deployment_job", job_id, status=status, ended_at=db.now)
