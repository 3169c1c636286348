"""The one module that connects hub, worker and store."""

import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Iterator, Sequence

from hub.admin.observability import Observability
from hub.app import create_app
from hub.cli.http_server.connection_limiter import ConnectionLimiter
from hub.cli.http_server.server import bind, port_of, serving, url_of_all
from hub.cli.http_server.server_limits import ServerLimits, limits_of
from hub.cli.service import tls
from hub.cli.service.configuration import Settings
from hub.cli.service.swappable_app import SwappableApp
from hub.cli.service.tls import TLSContext
from hub.mail.composer import MailComposer
from hub.worker_events import WorkerEvents
from store import Store
from store.delivery import filtering
from store.errors import StoreError
from store.tracing import Tracer
from worker.background_tasks import BackgroundTasks
from worker.delivery.trial import TrialSender
from worker.http.guard import Guard
from worker.pull.fetch_queue import FetchQueue
from worker.senders.count import sender_count
from worker.service import CallbackGuard, Worker, make_guard, reconfigure_guard

log = logging.getLogger("tocsin.serve")


@contextlib.contextmanager
def running_guard(settings: Settings) -> Iterator[Guard]:
    """Yield the callback guard that hub and worker of a process share."""
    guard = make_guard(settings)
    try:
        yield guard
    finally:
        guard.close()


@contextlib.asynccontextmanager
async def running_worker(
    store: Store, settings: Settings, guard: Guard, tracer: Tracer | None = None
) -> AsyncIterator[Worker]:
    """Run a worker during the block. With a tracer, it exports spans."""
    worker_events = WorkerEvents(settings)
    worker = Worker(
        store,
        settings,
        guard=guard,
        emit=worker_events,
        publish=worker_events.again,
        compose=MailComposer(settings),
        tracer=tracer,
        senders=sender_count(settings),
    )
    try:
        await worker.start()
        yield worker
    finally:
        await worker.stop()


class RunningHub:
    """A hub that answers on `sockets`."""

    def __init__(
        self,
        store: Store,
        guard: Guard,
        sockets: Sequence[socket.socket],
        seeing: Observability,
        encryption: TLSContext | None = None,
        trials: TrialSender | None = None,
    ) -> None:
        self._trials = trials
        self._store = store
        self._guard = guard
        self._seeing = seeing
        self._sockets = sockets
        self.limiter = ConnectionLimiter(ServerLimits(), seeing.measures)
        self.app = SwappableApp()
        self.tls = encryption
        seeing.measures.connections.read = lambda: self.limiter.open
        self.url = url_of_all(sockets, "http" if encryption is None else "https")

    async def change(self, settings: Settings) -> None:
        """Answer with these settings from now on. Raises Unusable, and changes nothing, if they are
        wrong.
        """
        listening = [one for one in self._sockets if one.family != socket.AF_UNIX]
        if listening:
            settings = settings.model_copy(update={"port": port_of(listening[0])})
        certificate = None if self.tls is None else tls.load(settings)
        complaints = list(tls.problems(settings, self._store.clock.now()))
        app = create_app(
            self._store,
            settings,
            CallbackGuard(self._guard),
            seeing=self._seeing,
            trials=self._trials,
            pulls=FetchQueue(settings, self._seeing.tracer),
        )
        reconfigure_guard(self._guard, settings)
        if self._trials is not None:
            self._trials.settings = settings
        self.limiter.limits = limits_of(settings, settings.max_in_flight)
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
    seeing: Observability | None = None,
) -> AsyncIterator[RunningHub]:
    """Run a hub during the block, on the inherited sockets or else on a socket of its own."""
    seeing = seeing or Observability(store)
    with contextlib.ExitStack() as stack:
        sockets = inherited or [bind(settings.host, settings.port)]
        for one in sockets:
            stack.enter_context(one)
        trials = TrialSender(guard, settings, store.clock)
        hub = RunningHub(store, guard, sockets, seeing, tls.tls_of(settings), trials)
        await hub.change(settings)
        tasks = BackgroundTasks()
        context = None if hub.tls is None else hub.tls.context
        try:
            async with serving(hub.app, *sockets, limiter=hub.limiter, tls=context):
                # Nobody waits for it, because many filters take seconds.
                tasks.start(_examine_filters(store))
                yield hub
        finally:
            await tasks.stop()
            await hub.app.close()
            await trials.close()


async def _examine_filters(store: Store) -> None:
    """Log which hooks have filters that cannot be used."""
    try:
        for said in await store.read(filtering.unusable):
            log.warning("%s", said)
    except StoreError as error:
        log.warning("the filters of hooks are not examined: %s", error)
