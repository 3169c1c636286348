"""The end of what has expired while no worker ran, before a command replaces it."""

from hub.cli.service.configuration import Settings
from store import Connection
from store.registry import expiring


def report_expired(db: Connection, settings: Settings) -> None:
    """Remove everything that has expired, and emit its events, as a worker would have done."""
    due = expiring.next_due(db)
    if due is None or due > db.now:
        return
    # Imported here, because workers usually leave nothing that has expired.
    from hub.worker_events import WorkerEvents
    from worker.jobs.expire import BATCH, expire_batch

    emit = WorkerEvents(settings)
    for kind in expiring.EXPIRING:
        while expire_batch(db, kind, emit, BATCH) == BATCH:
            pass
