"""The one place where hub, worker and store are put together."""

import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Iterator, Sequence

from hub.app import create_app
from hub.cli import tls
from hub.cli.configuration import Settings
from hub.cli.replaceable import Replaceable
from hub.cli.server import bind, port_of, serving, url_of_all
from hub.cli.tls import Tls
from hub.seeing import Seeing
from hub.telling import Telling
from store import Store
from worker.guard import Guard
from worker.service import Judge, Worker, change_guard, make_guard

log = logging.getLogger("tocsin.serve")


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
    telling = Telling(settings)
    worker = Worker(store, settings, guard=guard, tell=telling, show=telling.again)
    try:
        await worker.start()
        yield worker
    finally:
        await worker.stop()


class Hub:
    """A hub that answers on `sockets`."""

    def __init__(
        self,
        store: Store,
        guard: Guard,
        sockets: Sequence[socket.socket],
        seeing: Seeing,
        encryption: Tls | None = None,
    ) -> None:
        self._store = store
        self._guard = guard
        self._seeing = seeing
        self._sockets = sockets
        self.app = Replaceable()
        self.tls = encryption
        self.url = url_of_all(sockets, "http" if encryption is None else "https")

    async def change(self, settings: Settings) -> None:
        """Answer by these settings from now on. Unusable, with nothing changed, if they are."""
        listening = [one for one in self._sockets if one.family != socket.AF_UNIX]
        if listening:
            settings = settings.model_copy(update={"port": port_of(listening[0])})
        certificate = None if self.tls is None else tls.load(settings)
        complaints = list(tls.complaints(settings, self._store.clock.now()))
        app = create_app(self._store, settings, Judge(self._guard), seeing=self._seeing)
        change_guard(self._guard, settings)
        if self.tls is not None and certificate is not None:
            self.tls.use(certificate)
        for complaint in complaints:
            log.warning("%s", complaint)
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
        hub = Hub(store, guard, sockets, seeing, tls.tls_of(settings))
        await hub.change(settings)
        context = None if hub.tls is None else hub.tls.context
        open_ones = seeing.measures.connections
        try:
            async with serving(hub.app, *sockets, connections=open_ones, tls=context):
                yield hub
        finally:
            await hub.app.close()
