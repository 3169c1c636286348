"""The one place where hub, worker and store are put together."""

import contextlib
import socket
from collections.abc import AsyncIterator

from hub.app import create_app
from hub.cli.configuration import Settings
from hub.cli.server import bind, port_of, serving
from store import Store
from worker.service import Judge, Worker, make_guard


@contextlib.asynccontextmanager
async def running_worker(store: Store, settings: Settings) -> AsyncIterator[Worker]:
    """A worker at work for the length of the block."""
    worker = Worker(store, settings)
    try:
        await worker.start()
        yield worker
    finally:
        await worker.stop()


@contextlib.asynccontextmanager
async def running_hub(
    store: Store, settings: Settings, worker: Worker | None
) -> AsyncIterator[socket.socket]:
    """A hub that answers for the length of the block; gives the socket it listens on."""
    with bind(settings.host, settings.port) as bound:
        settings = settings.model_copy(update={"port": port_of(bound)})
        guard = make_guard(settings) if worker is None else worker.guard
        try:
            async with serving(create_app(store, settings, Judge(guard)), bound):
                yield bound
        finally:
            if worker is None:
                guard.close()
