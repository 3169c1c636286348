"""The job that opens and closes alerts. It emits the operational events, and prepares mails."""

import logging

from store import Connection, Row, Store
from store.alerts import transitions
from store.alerts.transitions import AlertChanges, AlertLimits
from store.clock import SECOND
from store.mail import notices
from worker.publishing import EventEmitter
from worker.settings import WorkerSettings

log = logging.getLogger("tocsin.worker")

INTERVAL = 15.0


async def check_alerts(store: Store, settings: WorkerSettings, emit: EventEmitter) -> None:
    """Compare the alerts with the state of hooks and of the queue.

    A pass that finds no change writes nothing.
    """
    limits = AlertLimits(settings.disable_after, settings.alert_backlog)
    changes = await store.read(transitions.find, limits)
    if changes:
        opened = await store.write(apply, changes, emit, settings)
        for row in opened:
            log.warning("alert %d: %s, hook %d", row["id"], row["kind"], row["hook_id"])


def apply(
    db: Connection, changes: AlertChanges, emit: EventEmitter, settings: WorkerSettings
) -> list[Row]:
    """Record the changes together with their events and mails. Return the new alerts.

    No event is about a system hook, because such hooks receive these events. Mails do not go
    through hooks, so they report system hooks too.
    """
    opened = transitions.apply(db, changes)
    if settings.mail_host is not None:
        notices.add(db, opened, round(settings.mail_window * SECOND))
    by_kind: dict[str, list[Row]] = {}
    for row in opened:
        if not row["of_system"]:
            by_kind.setdefault(row["kind"], []).append(row)
    for kind, rows in by_kind.items():
        emit(db, kind, rows)
    return opened
