"""The job that removes what has ended, at the moment that it does, and tells of it."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from store import Connection, Row, Store
from store.expiring import EXPIRING, Expiring

log = logging.getLogger("tocsin.worker")

Tell = Callable[[Connection, str, Sequence[Row]], None]
"""`tell(db, "name.action", rows)` writes an event of each row in the transaction that changed it.
The composing command gives it: what is told, and how, is the hub's."""

BATCH = 250


async def expire(store: Store, tell: Tell) -> None:
    """Remove all that has ended, a transaction a batch, each with its events: both or neither."""
    for kind in EXPIRING:
        total = 0
        while (many := await store.write(_batch, kind, tell)) == BATCH:
            total += many
            # Others get their turn at the writer.
            await asyncio.sleep(0)
        if total + many:
            log.info("%s: %d", kind.event, total + many)


def _batch(db: Connection, kind: Expiring, tell: Tell) -> int:
    rows = kind.expire(db, BATCH)
    if rows:
        tell(db, kind.event, rows)
    return len(rows)
