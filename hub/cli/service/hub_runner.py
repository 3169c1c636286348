"""The hub of a daemon, with the parts of the worker that it uses: guard, trials, and fetching."""

import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence

from starlette.types import ASGIApp

from hub.admin.observability import Observability
from hub.app import create_app
from hub.cli.http_server.connection_limiter import ConnectionLimiter
from hub.cli.http_server.server import bind, port_of, serving, url_of_all
from hub.cli.http_server.server_limits import ServerLimits, limits_of
from hub.cli.service import tls
from hub.cli.service.configuration import Settings
from hub.cli.service.swappable_app import SwappableApp
from hub.cli.service.tls import TLSContext
from store import Store
from store.clock import SECOND
from store.delivery import filtering
from store.errors import StoreError
from worker.background_tasks import BackgroundTasks
from worker.delivery.trial import TrialSender
from worker.http.callback_guard import CallbackGuard, reconfigure_guard
from worker.http.guard import Guard
from worker.pull.fetch_queue import FetchQueue

log = logging.getLogger("tocsin.serve")


class RunningHub:
    """A hub that answers on `sockets`."""

    def __init__(
        self,
        store: Store,
        guard: Guard,
        sockets: Sequence[socket.socket],
        observability: Observability,
        encryption: TLSContext | None,
        trials: TrialSender,
    ) -> None:
        self._trials = trials
        self._store = store
        self._guard = guard
        self._observability = observability
        self._sockets = sockets
        self.limiter = ConnectionLimiter(ServerLimits(), observability.metrics)
        self.app = SwappableApp()
        self.tls = encryption
        observability.metrics.connections.read = lambda: self.limiter.open
        self.url = url_of_all(sockets, "http" if encryption is None else "https")

    async def change(self, settings: Settings) -> None:
        """Answer with these settings from now on.

        Raises Unusable, and changes nothing, if they are wrong.
        """
        listening = [one for one in self._sockets if one.family != socket.AF_UNIX]
        if listening:
            settings = settings.model_copy(update={"port": port_of(listening[0])})
        certificate = None if self.tls is None else tls.load(settings)
        leaf = None if settings.tls_certificate is None else tls.leaf_of(settings.tls_certificate)
        complaints = list(tls.problems(settings, self._store.clock.now()))
        app = create_app(
            self._store,
            settings,
            CallbackGuard(self._guard),
            observability=self._observability,
            trials=self._trials,
            pull_queue=FetchQueue(settings, self._observability.tracer),
        )
        reconfigure_guard(self._guard, settings)
        self._trials.settings = settings
        self.limiter.limits = limits_of(settings, settings.max_in_flight)
        if self.tls is not None and certificate is not None:
            self.tls.use(certificate)
        metrics = self._observability.metrics
        metrics.certificate_begins.read = lambda: None if leaf is None else leaf.begins / SECOND
        metrics.certificate_ends.read = lambda: None if leaf is None else leaf.ends / SECOND
        for complaint in complaints:
            log.warning("%s", complaint)
        await self.app.put(app)


@contextlib.asynccontextmanager
async def running_hub(
    store: Store,
    settings: Settings,
    guard: Guard,
    inherited: Sequence[socket.socket] = (),
    observability: Observability | None = None,
    around: Callable[[ASGIApp], ASGIApp] | None = None,
) -> AsyncIterator[RunningHub]:
    """Run a hub during the block, on the inherited sockets or else on a socket of its own.

    `around` wraps the hub's application; the server serves the application that it returns.
    """
    observability = observability or Observability(store)
    with contextlib.ExitStack() as stack:
        sockets = inherited or [bind(settings.host, settings.port)]
        for one in sockets:
            stack.enter_context(one)
        trials = TrialSender(guard, settings, store.clock)
        hub = RunningHub(store, guard, sockets, observability, tls.tls_of(settings), trials)
        await hub.change(settings)
        tasks = BackgroundTasks()
        context = None if hub.tls is None else hub.tls.context
        try:
            served = hub.app if around is None else around(hub.app)
            async with serving(served, *sockets, limiter=hub.limiter, tls=context):
                # In the background, because the examination of many filters takes seconds.
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
