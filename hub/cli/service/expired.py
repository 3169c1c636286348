"""The end of what has expired while no worker ran, before a command replaces it."""

import time

from hub.cli.service.configuration import Settings
from store import Connection, Store
from store.registry import expiring

# Seconds between two transactions, so that other writers get their turn.
PAUSE = 0.02


def report_all_expired(store: Store, settings: Settings) -> None:
    """Do what `report_expired` does in short transactions, before the one that calls it.

    All other writers would wait for the end of one transaction with everything. If nothing has
    expired, there is none: it would record a command in the audit log that may yet be refused.
    """
    while store.read_sync(_is_due) and store.write_sync(_report_some, settings):
        time.sleep(PAUSE)


def report_expired(db: Connection, settings: Settings) -> None:
    """Remove everything that has expired, and emit its events, as a worker would have done."""
    while _report_some(db, settings):
        pass


def _is_due(db: Connection) -> bool:
    due = expiring.next_due(db)
    return due is not None and due <= db.now


def _report_some(db: Connection, settings: Settings) -> bool:
    """Report some of what has expired. Return whether there may be more."""
    if not _is_due(db):
        return False
    # Imported here, because workers usually leave nothing that has expired.
    from hub.worker_events import WorkerEvents
    from worker.jobs.expire import BATCH, expire_batch

    emit = WorkerEvents(settings)
    return any(expire_batch(db, kind, emit, BATCH) == BATCH for kind in expiring.EXPIRING)
