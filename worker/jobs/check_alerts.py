"""The job that opens and closes alerts, and emits the operational events."""

import logging

from store import Connection, Row, Store
from store.alerts import transitions
from store.alerts.transitions import Changes, Limits
from worker.publishing import EventEmitter
from worker.settings import WorkerSettings

log = logging.getLogger("tocsin.worker")

INTERVAL = 15.0


async def check_alerts(store: Store, settings: WorkerSettings, emit: EventEmitter) -> None:
    """Compare the alerts with the state of hooks and of the queue.

    A pass that finds no change writes nothing.
    """
    limits = Limits(settings.disable_after, settings.alert_backlog)
    changes = await store.read(transitions.find, limits)
    if changes:
        opened = await store.write(apply, changes, emit)
        for row in opened:
            log.warning("alert %d: %s, hook %d", row["id"], row["kind"], row["hook_id"])


def apply(db: Connection, changes: Changes, emit: EventEmitter) -> list[Row]:
    """Record the changes together with their events. Return the new alerts.

    No event is about a system hook, because such hooks receive these events.
    """
    opened = transitions.apply(db, changes)
    by_kind: dict[str, list[Row]] = {}
    for row in opened:
        if not row["of_system"]:
            by_kind.setdefault(row["kind"], []).append(row)
    for kind, rows in by_kind.items():
        emit(db, kind, rows)
    return opened
