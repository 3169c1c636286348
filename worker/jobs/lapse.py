"""The job that ends expired leases of pull hooks, and removes the hooks that nobody uses."""

import asyncio
import logging
from functools import partial

from store import Connection, Store
from store.clock import earliest
from store.pull import idle_hooks, pull_leases
from store.tracing import Tracer
from worker.jobs.pauses import pause_if_due
from worker.pull.fetch_queue import FetchQueue
from worker.settings import WorkerSettings

log = logging.getLogger("tocsin.worker")

# The limit of expired leases among which one round looks for hooks.
BATCH = 1_000


def next_due(db: Connection, began: int) -> int | None:
    """Return when the next lease expires or the next hook has been idle for too long, or None.

    `began` is when the worker began, in microseconds.
    """
    return earliest(pull_leases.next_expiry(db), idle_hooks.next_expiry(db, began))


async def lapse(
    store: Store, settings: WorkerSettings, began: int, tracer: Tracer | None = None
) -> None:
    """End what has expired. A lease that expires is a failed attempt.

    `began` is when the worker began, in microseconds.
    """
    queue, run_began = FetchQueue(settings, tracer), store.clock.now()
    total = 0
    while hook_ids := await store.read(pull_leases.hooks_with_expired, BATCH):
        ended = [await store.write(queue.lapse, hook_id) for hook_id in hook_ids]
        total += sum(ended)
        if not any(ended):
            # Requests of the hooks' receivers are ending these.
            break
        # Give other writers their turn.
        await asyncio.sleep(0)
    if total:
        log.info("leases of pull hooks that expired: %d", total)
    for hook_id in await store.write(idle_hooks.remove, began):
        log.info("pull hook %d was idle for too long: removed", hook_id)
    await pause_if_due(store, partial(next_due, began=began), run_began)
