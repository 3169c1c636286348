"""The job that records the deployments of clusters that were asked for, a batch at a time."""

import logging

from store import Connection, Row, Store
from store.artifacts import deployment_jobs
from store.errors import Busy, Unavailable
from worker.publishing import EventEmitter

log = logging.getLogger("tocsin.worker")

BATCH = 250
FAILED = "The deployments could not be recorded. The cause is in the log of the worker."


async def record_deployments(store: Store, emit: EventEmitter, *, batch: int = BATCH) -> None:
    """Do all jobs that there are, the oldest first: a transaction a batch, with its events."""
    while (job := await store.write(deployment_jobs.begin)) is not None:
        total = 0
        try:
            while (many := await store.write(_record_batch, job, emit, batch)) is not None:
                total += many
        except (Busy, Unavailable):
            raise
        except Exception:
            # Tried again it would fail again, and keep all that comes after it waiting.
            log.exception("the deployments of job %d cannot be recorded", job["id"])
            await store.write(deployment_jobs.fail, job, FAILED)
        log.info("job %d: %d deployments of the cluster %s", job["id"], total, job["cluster"])


def _record_batch(db: Connection, job: Row, emit: EventEmitter, limit: int) -> int | None:
    """How many were recorded; None where nothing was left to do."""
    rows = deployment_jobs.advance(db, job, limit)
    if rows is None:
        return None
    for change in ("created", "updated"):
        some = [row | {"sender_id": job["account_id"]} for row in rows if row["change"] == change]
        if some:
            emit(db, f"deployment_record.{change}", some)
    return len(rows)
