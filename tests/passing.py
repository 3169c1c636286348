"""Time that passes for a worker whose clock is moved."""

from store import Store, leases
from store.clock import SECOND
from worker.service import LEASE, Worker


async def keep_lease(worker: Worker, store: Store, seconds: float) -> None:
    """What the worker's looks would do in so many seconds to come: its lease lives on."""
    if store.engine.exclusive:
        return
    hand = worker.dispatcher._hand
    lifetime = round(seconds * SECOND) + LEASE
    assert hand.lease is not None
    assert await store.note(leases.renew, hand.lease, lifetime)
    worker.dispatcher.keep(store.clock.now() + lifetime)
