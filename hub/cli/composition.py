"""The one place where hub, worker and store are put together."""

import contextlib
import socket
from collections.abc import AsyncIterator, Iterator, Sequence

from hub.app import create_app
from hub.cli.configuration import Settings
from hub.cli.replaceable import Replaceable
from hub.cli.server import bind, port_of, serving, url_of_all
from hub.seeing import Seeing
from hub.telling import Telling
from store import Store
from worker.guard import Guard
from worker.service import Judge, Worker, change_guard, make_guard


@contextlib.contextmanager
def guarding(settings: Settings) -> Iterator[Guard]:
    """The guard that hub and worker of a process share."""
    guard = make_guard(settings)
    try:
        yield guard
    finally:
        guard.close()


@contextlib.asynccontextmanager
async def running_worker(store: Store, settings: Settings, guard: Guard) -> AsyncIterator[Worker]:
    """A worker at work for the length of the block."""
    worker = Worker(store, settings, guard=guard, tell=Telling(settings))
    try:
        await worker.start()
        yield worker
    finally:
        await worker.stop()


class Hub:
    """A hub that answers on `sockets`."""

    def __init__(
        self, store: Store, guard: Guard, sockets: Sequence[socket.socket], seeing: Seeing
    ) -> None:
        self._store = store
        self._guard = guard
        self._seeing = seeing
        self._sockets = sockets
        self.app = Replaceable()
        self.url = url_of_all(sockets)

    async def change(self, settings: Settings) -> None:
        """Answer by these settings from now on. Unusable, with nothing changed, if they are."""
        listening = [one for one in self._sockets if one.family != socket.AF_UNIX]
        if listening:
            settings = settings.model_copy(update={"port": port_of(listening[0])})
        app = create_app(self._store, settings, Judge(self._guard), seeing=self._seeing)
        change_guard(self._guard, settings)
        await self.app.put(app)


@contextlib.asynccontextmanager
async def running_hub(
    store: Store,
    settings: Settings,
    guard: Guard,
    inherited: Sequence[socket.socket] = (),
    seeing: Seeing | None = None,
) -> AsyncIterator[Hub]:
    """A hub that answers for the length of the block, on the sockets that are given to it or
    else on one of its own.
    """
    seeing = seeing or Seeing(store)
    with contextlib.ExitStack() as stack:
        sockets = inherited or [bind(settings.host, settings.port)]
        for one in sockets:
            stack.enter_context(one)
        hub = Hub(store, guard, sockets, seeing)
        await hub.change(settings)
        try:
            async with serving(hub.app, *sockets, connections=seeing.measures.connections):
                yield hub
        finally:
            await hub.app.close()
