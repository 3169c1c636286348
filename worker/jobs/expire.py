"""The job that removes expired objects as soon as they expire, and emits the events."""

import asyncio
import logging

from store import Connection, Store
from store.registry import expiring
from store.registry.expiring import EXPIRING, ExpiringKind
from worker.jobs.pauses import Sleep, pause_if_due
from worker.publishing import EventEmitter

log = logging.getLogger("tocsin.worker")

BATCH = 250


async def expire(
    store: Store, emit: EventEmitter, *, batch: int = BATCH, sleep: Sleep = asyncio.sleep
) -> None:
    """Remove everything that has expired.

    Each batch is one transaction, together with its events.
    """
    began = store.clock.now()
    for kind in EXPIRING:
        total = 0
        while (many := await store.write(expire_batch, kind, emit, batch)) == batch:
            total += many
            # Give other writers their turn.
            await asyncio.sleep(0)
        if total + many:
            log.info("%s: %d", kind.event, total + many)
    await pause_if_due(store, expiring.next_due, began, sleep)


def expire_batch(db: Connection, kind: ExpiringKind, emit: EventEmitter, limit: int) -> int:
    """Remove up to `limit` expired objects of a kind, and emit their events. Return how many."""
    rows = kind.expire(db, limit)
    if rows:
        emit(db, kind.event, rows)
    return len(rows)
