"""The worker: the dispatcher with its lease, its ear for other processes, and its jobs."""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace

from store import Connection, Store
from store.clock import DAY, SECOND
from store.delivery import leases
from store.errors import Busy, Invalid, Unavailable, Unusable
from worker.delivery.dispatcher import Dispatcher
from worker.delivery.metrics import WorkerMetrics
from worker.http.addresses import Refused
from worker.http.guard import Guard
from worker.http.transport import HttpSender, Transport
from worker.job_table import JobContext, build_jobs, refuse_emit, refuse_publish
from worker.jobs.projector import Projector
from worker.jobs.republish import SnapshotPublisher
from worker.publishing import EventEmitter
from worker.scheduler.job_runner import JobRunner, ScheduledJob
from worker.scheduler.periodic import AsyncJob, PeriodicRunner, PeriodicTask, count_runs, run_once
from worker.settings import WorkerSettings
from worker.websub.tasks import WebSubTasks

log = logging.getLogger("tocsin.worker")

LEASE = 30 * SECOND
# Where there can be no other worker a lease need not end: not when the clock jumps, and not when
# the store is away for longer than that.
LIFELONG = 36_500 * DAY
# What is begun less than this before a lease ends may not be recorded under it.
MARGIN = 10 * SECOND
# After trouble with the store the others' leases are over too: so long they may come back first.
OUTAGE_GRACE = 10.0
POLL_INTERVAL = 5.0
PROJECTION_INTERVAL = 1.0
GRACE = 10.0


class CallbackGuard:
    """Judges callbacks when a subscription is made, in the store's words for what is wrong."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def __call__(self, url: str) -> None:
        """Invalid, naming the address, the rule, and the setting that would allow it."""
        try:
            await self._guard.judge(url)
        except Refused as error:
            raise Invalid(str(error), field="url", code="custom", resource="Hook") from None


def make_guard(settings: WorkerSettings) -> Guard:
    """The guard that these settings describe. Unusable for a network or port that is none."""
    with _usable():
        return Guard(allow_networks=settings.allow_networks, ports=settings.callback_ports)


def reconfigure_guard(guard: Guard, settings: WorkerSettings) -> None:
    """Have a guard judge by these settings. Unusable, with nothing changed, as above."""
    with _usable():
        guard.allow(settings.allow_networks, settings.callback_ports)


@contextlib.contextmanager
def _usable() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise Unusable(f"allow_networks or callback_ports: {error}") from error


def _renew(db: Connection, lease_id: int, lifetime: int, end_others: bool, lag: float) -> int:
    """Prolong a lease and then, never before, end those whose time is over. Returns when it will
    end, 0 if it has.
    """
    if not leases.renew(db, lease_id, lifetime, round(lag * SECOND)):
        return 0
    if end_others:
        leases.release_expired(db)
    return db.now + lifetime


def _acquire_lease(db: Connection, holder: str, lifetime: int) -> tuple[int, int]:
    """A new lease, and when it will end."""
    return leases.acquire(db, holder, lifetime), db.now + lifetime


def _transport(guard: Guard, settings: WorkerSettings) -> Transport:
    # Whatever may be in flight to one host may be kept for the next ones: dialling anew costs
    # more than delivering.
    most = settings.max_in_flight
    return Transport(guard, idle_per_origin=most, idle_total=most)


class Worker:
    """Delivers what the store holds, from `start` to `stop`."""

    def __init__(
        self,
        store: Store,
        settings: WorkerSettings,
        *,
        guard: Guard | None = None,
        poster: HttpSender | None = None,
        tell: EventEmitter = refuse_emit,
        show: SnapshotPublisher = refuse_publish,
    ) -> None:
        self._store = store
        self._settings = settings
        self.guard = guard or make_guard(settings)
        self._guard_is_ours = guard is None
        self._holder = f"{socket.gethostname()}:{os.getpid()}"
        self._stopping: asyncio.Task[None] | None = None
        self._transport = _transport(self.guard, settings) if poster is None else None
        poster = poster or self._sender()
        self.dispatcher = Dispatcher(store, settings, self.guard, poster)
        self._websub_tasks = WebSubTasks(store, settings, self.guard, poster)
        self.dispatcher.intake.on_websub_due = self._websub_tasks.soon
        self._projector = Projector(store, lambda: self._lease or None)
        self._projector.wanted = settings.reflect
        self.dispatcher.intake.on_events_stored = self._projector.soon
        self._emit, self._publish = tell, show
        self._periodic = PeriodicRunner()
        self._job_runner = JobRunner(store)
        self.dispatcher.intake.plan = self._job_runner.soon
        self._deaf: Callable[[], None] | None = None
        self._lease = 0
        self._poll_lock = asyncio.Lock()
        self._end_others_from = 0.0
        self._polling = self._periodic_task("look", POLL_INTERVAL, self._look)
        self._polls: set[asyncio.Task[None]] = set()

    @property
    def measures(self) -> WorkerMetrics:
        """What it counts."""
        return self.dispatcher.measures

    def _sender(self) -> HttpSender:
        assert self._transport is not None
        return self._transport

    async def start(self) -> None:
        """Take up work. Unusable when another worker has this database to itself."""
        if not self._store.engine.acquire_worker_lock():
            raise Unusable("another worker is running on this database: stop it first")
        await self._take_lease()
        if self._store.engine.single_worker:
            # What other leases hold was left by a crash: no need to wait until they end.
            await self._store.note(leases.release_others, self._lease)
        self._deaf = await self._store.listen(self._heard)
        self._store.courier = self.dispatcher.intake
        await self._look()
        self._websub_tasks.soon()
        self._projector.soon()
        self._periodic.start(
            [
                *self._prolonging(),
                self._polling,
                self._periodic_task("websub", POLL_INTERVAL, self._websub_tasks.tick),
                self._periodic_task("reflect", PROJECTION_INTERVAL, self._projector.tick),
            ]
        )
        self._job_runner.start(self._table(), f"{self._holder}/{self._lease}")

    def _periodic_task(self, name: str, every: float, run: AsyncJob) -> PeriodicTask:
        return PeriodicTask(name, every, count_runs(name, run, self.measures.jobs))

    def _table(self) -> list[ScheduledJob]:
        jobs = build_jobs(JobContext(self._store, self._settings, self._emit, self._publish))
        return [replace(job, run=count_runs(job.name, job.run, self.measures.jobs)) for job in jobs]

    async def _take_lease(self) -> None:
        # Durable, for a database that forgot it could give the same number to another worker.
        self._lease, ends_at = await self._store.write(
            _acquire_lease, self._holder, self._lifetime()
        )
        self.dispatcher.hold(self._lease)
        self.dispatcher.keep(ends_at - MARGIN)

    def _lifetime(self) -> int:
        return LIFELONG if self._store.engine.single_worker else LEASE

    async def _look(self) -> None:
        """Keep the lease, free what others held that have ended, and take up what is due: the net
        beneath the wake-ups.
        """
        async with self._poll_lock:
            try:
                await self._renew_lease()
                await self.dispatcher.reconcile()
                await self.dispatcher.scan()
                self._job_runner.soon()
            except Unavailable:
                self._end_others_from = asyncio.get_running_loop().time() + OUTAGE_GRACE
                raise
            finally:
                self.dispatcher.pulse.arm("looking", 2 * POLL_INTERVAL)

    async def _renew_lease(self) -> None:
        end_others = asyncio.get_running_loop().time() >= self._end_others_from
        given = self._lease, self._lifetime(), end_others, self.dispatcher.lag
        ends_at = await self._store.note(_renew, *given)
        if ends_at:
            self.dispatcher.keep(ends_at - MARGIN)
            return
        # This process stood still for long: what it had in hand may be another's.
        log.warning("the lease had ended; going on under a new one")
        await self._take_lease()
        if end_others:
            await self._store.note(leases.release_expired)

    def _prolonging(self) -> list[PeriodicTask]:
        # Beside the look, which may take long: the lease must not end meanwhile.
        return (
            []
            if self._store.engine.single_worker
            else [self._periodic_task("lease", POLL_INTERVAL, self._prolong)]
        )

    async def _prolong(self) -> None:
        """Keep the lease. Where it was ended the next look takes another."""
        lease_id = self._lease
        given = lease_id, self._lifetime(), False, self.dispatcher.lag
        ends_at = await self._store.note(_renew, *given)
        if ends_at and lease_id == self._lease:
            self.dispatcher.keep(ends_at - MARGIN)

    def _heard(self, hooks: list[int]) -> None:
        if hooks:
            self.dispatcher.intake.wake(hooks)
        else:
            task = asyncio.get_running_loop().create_task(run_once(self._polling))
            self._polls.add(task)
            task.add_done_callback(self._polls.discard)

    def change(
        self,
        settings: WorkerSettings,
        tell: EventEmitter | None = None,
        show: SnapshotPublisher | None = None,
    ) -> None:
        """Work, and perhaps tell and show, by these settings from now on. Unusable, with nothing
        changed, for a network or port that is none.
        """
        reconfigure_guard(self.guard, settings)
        self._settings = settings
        self._emit, self._publish = tell or self._emit, show or self._publish
        self.dispatcher.change(settings)
        self._websub_tasks.change(settings)
        self._job_runner.change(self._table())
        self._projector.change(settings.reflect)
        if self._transport is not None:
            # What was dialled by the old rules is not used for what the new ones refuse.
            self._transport.pool.renew()

    def start_stopping(self) -> asyncio.Task[None]:
        """What `stop` does, without waiting for it."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())
        return self._stopping

    async def stop(self) -> None:
        """Finish what is in flight within 10 s, give back the rest; nothing stays leased."""
        await self.start_stopping()

    async def _stop(self) -> None:
        self._periodic.stop()
        await self._job_runner.stop()
        if self._deaf is not None:
            self._deaf()
        for task in self._polls:
            task.cancel()
        await self._websub_tasks.stop()
        await self._projector.stop()
        await self.dispatcher.stop(GRACE)
        if self._lease:
            # Without the store the lease ends by itself.
            with contextlib.suppress(Busy, Unavailable):
                await self._store.note(leases.release, self._lease)
        if self._transport is not None:
            await self._transport.close()
        if self._guard_is_ours:
            self.guard.close()
