"""The job that records the requested deployments of clusters, in batches."""

import logging

from store import Connection, Row, Store
from store.artifacts import deployment_jobs
from store.errors import Busy, Unavailable
from worker.publishing import EventEmitter

log = logging.getLogger("tocsin.worker")

BATCH = 250
FAILED = "The deployments could not be recorded. The cause is in the log of the worker."


async def record_deployments(store: Store, emit: EventEmitter, *, batch: int = BATCH) -> None:
    """Run all requested jobs, the oldest first.

    Each batch is one transaction, together with its events.
    """
    while (job := await store.write(deployment_jobs.begin)) is not None:
        total = 0
        try:
            while (many := await store.write(_record_batch, job, emit, batch)) is not None:
                total += many
        except (Busy, Unavailable):
            raise
        except Exception:
            # A retry would fail again, and delay all later jobs.
            log.exception("the deployments of job %d cannot be recorded", job["id"])
            await store.write(deployment_jobs.fail, job, FAILED)
        log.info("job %d: %d deployments of the cluster %s", job["id"], total, job["cluster"])


def _record_batch(db: Connection, job: Row, emit: EventEmitter, limit: int) -> int | None:
    """Record up to `limit` deployments. Return how many, or None if nothing was left."""
    rows = deployment_jobs.advance(db, job, limit)
    if rows is None:
        return None
    for change in ("created", "updated"):
        some = [row | {"sender_id": job["account_id"]} for row in rows if row["change"] == change]
        if some:
            emit(db, f"deployment_record.{change}", some)
    return len(rows)
