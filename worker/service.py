"""The worker: it runs the dispatcher, the lease, wake-ups from other processes, WebSub and jobs."""

import asyncio
import os
import socket
from collections.abc import Callable
from dataclasses import replace

from store import Store
from store.delivery import leases
from store.errors import InUse
from store.tracing import Tracer
from worker.background_tasks import BackgroundTasks
from worker.delivery.dispatcher import Dispatcher
from worker.delivery.lease_keeper import LeaseKeeper
from worker.delivery.metrics import WorkerMetrics
from worker.http.callback_guard import make_guard, reconfigure_guard
from worker.http.client import GuardedClient
from worker.http.guard import Guard
from worker.http.transport import HttpSender, Transport
from worker.job_table import (
    JobContext,
    build_jobs,
    refuse_compose,
    refuse_emit,
    refuse_publish,
)
from worker.jobs.projector import Projector
from worker.jobs.republish import SnapshotPublisher
from worker.publishing import EventEmitter, MailComposer
from worker.pull.announcer import PullAnnouncer
from worker.scheduler.clock_steps import ClockSteps
from worker.scheduler.job_records import ScheduledJob
from worker.scheduler.job_runner import JobRunner
from worker.scheduler.outages import discount_outage
from worker.scheduler.periodic import AsyncJob, PeriodicRunner, PeriodicTask, count_runs, run_once
from worker.senders.pool import SenderPool
from worker.senders.supervisor import SenderSupervisor
from worker.settings import WorkerSettings
from worker.tuning import DEFAULTS, Tuning
from worker.websub.tasks import WebSubTasks

PROJECTION_INTERVAL = 1.0


def _transport(guard: Guard, settings: WorkerSettings) -> Transport:
    # The pool keeps as many idle connections as requests may be in flight, even if all go to one
    # host, because connecting again costs more than delivering.
    most = settings.max_in_flight
    return Transport(guard, idle_per_origin=most, idle_total=most)


class Worker:
    """The worker: it delivers the events in the store, from `start` to `stop`.

    `emit` and `publish` write events about the changes that its jobs make and republish. `compose`
    writes the mails that they send. With a `tracer`, attempts are spans. Under load, `senders`
    processes sign and send.
    """

    def __init__(
        self,
        store: Store,
        settings: WorkerSettings,
        *,
        guard: Guard | None = None,
        sender: HttpSender | None = None,
        emit: EventEmitter = refuse_emit,
        publish: SnapshotPublisher = refuse_publish,
        compose: MailComposer = refuse_compose,
        tuning: Tuning = DEFAULTS,
        tracer: Tracer | None = None,
        senders: int = 0,
    ) -> None:
        self._store, self._settings, self._tuning = store, settings, tuning
        self.guard = guard or make_guard(settings)
        self._owns_guard = guard is None
        self._holder = f"{socket.gethostname()}:{os.getpid()}"
        self._transport = _transport(self.guard, settings) if sender is None else None
        used = sender or self._own_transport()
        self.senders = self._supervisor(senders) if sender is None else None
        deliverer = used if self.senders is None else self._pool(self.senders)
        self.dispatcher = Dispatcher(store, settings, self.guard, deliverer, tuning, tracer)
        self.metrics.sender_processes.read = lambda: len(self.senders.ready) if self.senders else 0
        self.lease = LeaseKeeper(store, self.dispatcher, self._holder, tuning)
        self._client = GuardedClient(self.guard, used)
        self.websub = WebSubTasks(store, settings, self._client)
        self.projector = Projector(
            store,
            lambda: self.lease.lease_id,
            enabled=settings.reflect,
            batch_seconds=tuning.projection_batch,
        )
        self.jobs = JobRunner(store, tuning.overdue_head_start)
        local = self.dispatcher.local
        local.on_websub_due = self.websub.wake
        local.on_events_stored = self.projector.wake
        local.on_job_due = self.jobs.wake
        self._emit, self._publish, self._compose = emit, publish, compose
        self._tracer = tracer
        self._began: int | None = None
        self._periodic = PeriodicRunner()
        self.clock_steps = ClockSteps(store)
        self._polling = self._periodic_task("look", tuning.poll_interval, self.poll)
        self._polls = BackgroundTasks()
        self._stop_listening: Callable[[], None] = lambda: None
        self._announcer: PullAnnouncer | None = None
        self._stopping: asyncio.Task[None] | None = None

    @property
    def metrics(self) -> WorkerMetrics:
        return self.dispatcher.metrics

    @property
    def open_connections(self) -> int:
        own = 0 if self._transport is None else len(self._transport.pool)
        return own if self.senders is None else own + self.senders.connections

    def _supervisor(self, most: int) -> SenderSupervisor | None:
        if not most:
            return None
        return SenderSupervisor(most, self._settings, self._on_sender_death, self._tuning)

    def _on_sender_death(self) -> None:
        self.metrics.sender_deaths.add()

    def _pool(self, senders: SenderSupervisor) -> SenderPool:
        assert self._transport is not None
        return SenderPool(self._transport, senders)

    def _own_transport(self) -> HttpSender:
        assert self._transport is not None
        return self._transport

    async def start(self) -> None:
        """Start working. Raise InUse if another worker has locked this database."""
        if not self._store.engine.acquire_worker_lock():
            holder = self._store.engine.worker_lock_holder()
            place = f", as {holder}" if holder else ""
            raise InUse(f"another worker is running on this database{place}: stop it first")
        self._began = self._store.clock.now()
        lease_id = await self.lease.acquire()
        if self._store.engine.single_worker:
            # This engine has one worker, so a crash left the other leases. Waiting for their end is
            # needless.
            await self._store.write_relaxed(leases.release_others, lease_id)
        await self._store.write_relaxed(discount_outage)
        self._stop_listening = await self._store.listen(self.wake)
        self._store.notifier = self.dispatcher.local
        self._announcer = PullAnnouncer(self._store)
        self._announcer.start()
        await self.poll()
        self.websub.wake()
        self.projector.wake()
        self._periodic.start(self.periodic_tasks())
        self.jobs.start(self._job_table(), f"{self._holder}/{lease_id}")

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return the tasks that this worker repeats, whether other workers run or not."""
        interval = self._tuning.poll_interval
        tasks = [
            self._polling,
            self._periodic_task("websub", interval, self.websub.tick),
            self._periodic_task("reflect", PROJECTION_INTERVAL, self.projector.tick),
            self._periodic_task("clock", interval, self.clock_steps.check),
        ]
        if self._store.engine.single_worker:
            return tasks
        # The lease has a task beside the poll: a slow poll must not let it expire.
        return [self._periodic_task("lease", interval, self.lease.renew), *tasks]

    def _periodic_task(self, name: str, every: float, run: AsyncJob) -> PeriodicTask:
        return PeriodicTask(name, every, count_runs(name, run, self.metrics.jobs))

    def _job_table(self) -> list[ScheduledJob]:
        jobs = build_jobs(
            JobContext(
                self._store,
                self._settings,
                self._emit,
                self._publish,
                self._compose,
                self.metrics,
                self._tracer,
                self._began,
            )
        )
        return [replace(job, run=count_runs(job.name, job.run, self.metrics.jobs)) for job in jobs]

    async def poll(self) -> None:
        """Renew the lease, and find the deliveries and jobs that no wake-up has reported."""
        await self.lease.poll()
        self.jobs.wake()

    def wake(self, hooks: list[int]) -> None:
        """Handle a wake-up from another process, which has made something due for these hooks.

        Without hooks, poll.
        """
        if hooks:
            self.dispatcher.local.wake(hooks)
            self._store.wakeups.wake(hooks)
        else:
            self._store.wakeups.wake_all()
            self._polls.start(run_once(self._polling))

    def check(self, settings: WorkerSettings) -> None:
        """Raise Unusable if an extra for these settings is missing."""
        build_jobs(JobContext(self._store, settings))

    def change(
        self,
        settings: WorkerSettings,
        emit: EventEmitter | None = None,
        publish: SnapshotPublisher | None = None,
        compose: MailComposer | None = None,
    ) -> None:
        """Apply these settings from now on.

        If a network or port is invalid, or an extra is missing, raise Unusable and change nothing.
        """
        self.check(settings)
        reconfigure_guard(self.guard, settings)
        self._settings = settings
        self._emit, self._publish = emit or self._emit, publish or self._publish
        self._compose = compose or self._compose
        self.dispatcher.change(settings)
        self.websub.change(settings)
        self.jobs.change(self._job_table())
        self.projector.change(settings.reflect)
        self.close_idle_connections()
        if self.senders is not None:
            self.senders.change(settings)

    def close_idle_connections(self) -> None:
        """Stop reusing the connections that are open now.

        Other rules or addresses may apply to them by now.
        """
        if self._transport is not None:
            self._transport.pool.retire(self._settings.max_in_flight)

    def start_stopping(self) -> asyncio.Task[None]:
        """Start what `stop` does, without waiting for it."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())
        return self._stopping

    async def stop(self) -> None:
        """Stop working and release the lease.

        Wait for requests in flight, 10 seconds at most. Return the other deliveries to the store.
        """
        await self.start_stopping()

    async def _stop(self) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._tuning.stop_grace
        # If the database does not answer, the other parts wait for it, and no outcome is recorded.
        self.dispatcher.close()
        self._periodic.stop()
        await self.jobs.stop()
        self._stop_announcing()
        self._stop_listening()
        self._polls.cancel()
        await self.websub.stop()
        await self.projector.stop()
        # The others may have taken some of the time.
        await self.dispatcher.stop(max(ends - loop.time(), 0.0))
        await self.lease.release()
        await self._client.close()
        if self.senders is not None:
            await self.senders.close()
        if self._transport is not None:
            await self._transport.close()
        if self._owns_guard:
            self.guard.close()

    def _stop_announcing(self) -> None:
        if self._announcer is not None:
            self._announcer.stop()

    def abort(self) -> None:
        """Stop at once, as if the process had been killed.

        Requests in flight are cut off, and their outcomes are lost. When the lease expires, its
        deliveries return to the store.
        """
        self._periodic.stop()
        self.jobs.abort()
        self._stop_announcing()
        self._stop_listening()
        self._polls.cancel()
        self.projector.abort()
        self.dispatcher.abort()
        if self.senders is not None:
            self.senders.abort()
