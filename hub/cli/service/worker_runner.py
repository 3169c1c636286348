"""The worker of a daemon, with its calls into the hub."""

import contextlib
from collections.abc import AsyncIterator

from hub.cli.service.configuration import Settings
from hub.cli.service.hub_callbacks import HubCallbacks
from store import Store
from store.tracing import Tracer
from worker.http.guard import Guard
from worker.senders.count import sender_count
from worker.service import Worker


@contextlib.asynccontextmanager
async def running_worker(
    store: Store, settings: Settings, guard: Guard, tracer: Tracer | None = None
) -> AsyncIterator[Worker]:
    """Run a worker during the block. With a tracer, it exports spans."""
    callbacks = HubCallbacks(settings)
    worker = Worker(
        store,
        settings,
        guard=guard,
        emit=callbacks.emit,
        publish=callbacks.publish,
        compose=callbacks.compose,
        tracer=tracer,
        senders=sender_count(settings),
    )
    try:
        await worker.start()
        yield worker
    finally:
        await worker.stop()
