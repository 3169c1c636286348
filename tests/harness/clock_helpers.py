"""Functions for tests that move the clock of a worker or of an event loop."""

import asyncio

from store import Store
from store.clock import SECOND
from store.delivery import leases
from worker.service import Worker
from worker.tuning import DEFAULTS


async def keep_lease(worker: Worker, store: Store, seconds: float) -> None:
    """Renew the worker's lease for `seconds` more than usual, as its polls would do meanwhile."""
    if store.engine.single_worker:
        return
    lifetime = round(seconds * SECOND) + DEFAULTS.lease
    assert worker.lease.lease_id is not None
    assert await store.write_relaxed(leases.renew, worker.lease.lease_id, lifetime)
    worker.lease.extend(store.clock.now() + lifetime)


def hasten(seconds: float) -> None:
    """Move the clock of asyncio's event loop. Timers that end within `seconds` are due at once."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # type: ignore[method-assign]
