"""The job that removes what has ended, at the moment that it does, and tells of it."""

import asyncio
import logging

from store import Connection, Store
from store.registry.expiring import EXPIRING, ExpiringKind
from worker.publishing import EventEmitter

log = logging.getLogger("tocsin.worker")

BATCH = 250


async def expire(store: Store, tell: EventEmitter) -> None:
    """Remove all that has ended, a transaction a batch, each with its events: both or neither."""
    for kind in EXPIRING:
        total = 0
        while (many := await store.write(_batch, kind, tell)) == BATCH:
            total += many
            # Others get their turn at the writer.
            await asyncio.sleep(0)
        if total + many:
            log.info("%s: %d", kind.event, total + many)


def _batch(db: Connection, kind: ExpiringKind, tell: EventEmitter) -> int:
    rows = kind.expire(db, BATCH)
    if rows:
        tell(db, kind.event, rows)
    return len(rows)
