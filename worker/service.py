"""The worker: the dispatcher with its lease, its ear for other processes, and its jobs."""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace

from store import Connection, Store, leases
from store.clock import DAY, SECOND
from store.errors import Busy, Invalid, Unavailable, Unusable
from worker.addresses import Refused
from worker.beat import Beat, Beats, Run, counted, run
from worker.dispatch import Dispatcher
from worker.expire import Tell
from worker.guard import Guard
from worker.measures import WorkerMeasures
from worker.reflect import Reflector
from worker.republish import Show
from worker.schedule import Works, nobody_shown, nobody_told, table
from worker.settings import WorkerSettings
from worker.timetable import Job, Timetable
from worker.transport import Poster, Transport
from worker.websub import Errands

log = logging.getLogger("tocsin.worker")

LEASE = 30 * SECOND
# Where there can be no other worker a lease need not end: not when the clock jumps, and not when
# the store is away for longer than that.
LIFELONG = 36_500 * DAY
# What is begun less than this before a lease ends may not be recorded under it.
MARGIN = 10 * SECOND
# After trouble with the store the others' leases are over too: so long they may come back first.
COMEBACK = 10.0
LOOK_EVERY = 5.0
REFLECT_EVERY = 1.0
GRACE = 10.0


class Judge:
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


def change_guard(guard: Guard, settings: WorkerSettings) -> None:
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
        leases.end_expired(db)
    return db.now + lifetime


def _take(db: Connection, holder: str, lifetime: int) -> tuple[int, int]:
    """A new lease, and when it will end."""
    return leases.take(db, holder, lifetime), db.now + lifetime


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
        poster: Poster | None = None,
        tell: Tell = nobody_told,
        show: Show = nobody_shown,
    ) -> None:
        self._store = store
        self._settings = settings
        self.guard = guard or make_guard(settings)
        self._guard_is_ours = guard is None
        self._holder = f"{socket.gethostname()}:{os.getpid()}"
        self._ended: asyncio.Task[None] | None = None
        self._transport = _transport(self.guard, settings) if poster is None else None
        poster = poster or self._sender()
        self.dispatcher = Dispatcher(store, settings, self.guard, poster)
        self._errands = Errands(store, settings, self.guard, poster)
        self.dispatcher.intake.errand = self._errands.soon
        self._reflector = Reflector(store, lambda: self._lease or None)
        self._reflector.wanted = settings.reflect
        self.dispatcher.intake.news = self._reflector.soon
        self._tell, self._show = tell, show
        self._beats = Beats()
        self._timetable = Timetable(store)
        self.dispatcher.intake.plan = self._timetable.soon
        self._deaf: Callable[[], None] | None = None
        self._lease = 0
        self._one_look = asyncio.Lock()
        self._end_others_from = 0.0
        self._looking = self._beat("look", LOOK_EVERY, self._look)
        self._looks: set[asyncio.Task[None]] = set()

    @property
    def measures(self) -> WorkerMeasures:
        """What it counts."""
        return self.dispatcher.measures

    def _sender(self) -> Poster:
        assert self._transport is not None
        return self._transport

    async def start(self) -> None:
        """Take up work. Unusable when another worker has this database to itself."""
        if not self._store.engine.only_worker():
            raise Unusable("another worker is running on this database: stop it first")
        await self._take_lease()
        if self._store.engine.exclusive:
            # What other leases hold was left by a crash: no need to wait until they end.
            await self._store.note(leases.end_others, self._lease)
        self._deaf = await self._store.hear(self._heard)
        self._store.courier = self.dispatcher.intake
        await self._look()
        self._errands.soon()
        self._reflector.soon()
        self._beats.start(
            [
                self._looking,
                self._beat("websub", LOOK_EVERY, self._errands.tick),
                self._beat("reflect", REFLECT_EVERY, self._reflector.tick),
            ]
        )
        self._timetable.start(self._table(), f"{self._holder}/{self._lease}")

    def _beat(self, name: str, every: float, run: Run) -> Beat:
        return Beat(name, every, counted(name, run, self.measures.jobs))

    def _table(self) -> list[Job]:
        jobs = table(Works(self._store, self._settings, self._tell, self._show))
        return [replace(job, run=counted(job.name, job.run, self.measures.jobs)) for job in jobs]

    async def _take_lease(self) -> None:
        # Durable, for a database that forgot it could give the same number to another worker.
        self._lease, ends_at = await self._store.write(_take, self._holder, self._lifetime())
        self.dispatcher.hold(self._lease)
        self.dispatcher.keep(ends_at - MARGIN)

    def _lifetime(self) -> int:
        return LIFELONG if self._store.engine.exclusive else LEASE

    async def _look(self) -> None:
        """Keep the lease, free what others held that have ended, and take up what is due: the net
        beneath the wake-ups.
        """
        async with self._one_look:
            try:
                await self._keep_lease()
                await self.dispatcher.reconcile()
                await self.dispatcher.scan()
                self._timetable.soon()
            except Unavailable:
                self._end_others_from = asyncio.get_running_loop().time() + COMEBACK
                raise
            finally:
                self.dispatcher.pulse.expect("looking", 2 * LOOK_EVERY)

    async def _keep_lease(self) -> None:
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
            await self._store.note(leases.end_expired)

    def _heard(self, hooks: list[int]) -> None:
        if hooks:
            self.dispatcher.intake.wake(hooks)
        else:
            task = asyncio.get_running_loop().create_task(run(self._looking))
            self._looks.add(task)
            task.add_done_callback(self._looks.discard)

    def change(
        self, settings: WorkerSettings, tell: Tell | None = None, show: Show | None = None
    ) -> None:
        """Work, and perhaps tell and show, by these settings from now on. Unusable, with nothing
        changed, for a network or port that is none.
        """
        change_guard(self.guard, settings)
        self._settings = settings
        self._tell, self._show = tell or self._tell, show or self._show
        self.dispatcher.change(settings)
        self._errands.change(settings)
        self._timetable.change(self._table())
        self._reflector.change(settings.reflect)
        if self._transport is not None:
            # What was dialled by the old rules is not used for what the new ones refuse.
            self._transport.pool.renew()

    def begin_to_stop(self) -> asyncio.Task[None]:
        """What `stop` does, without waiting for it."""
        if self._ended is None:
            self._ended = asyncio.create_task(self._stop())
        return self._ended

    async def stop(self) -> None:
        """Finish what is in flight within 10 s, give back the rest; nothing stays leased."""
        await self.begin_to_stop()

    async def _stop(self) -> None:
        self._beats.stop()
        await self._timetable.stop()
        if self._deaf is not None:
            self._deaf()
        for task in self._looks:
            task.cancel()
        await self._errands.stop()
        await self._reflector.stop()
        await self.dispatcher.stop(GRACE)
        if self._lease:
            # Without the store the lease ends by itself.
            with contextlib.suppress(Busy, Unavailable):
                await self._store.note(leases.end, self._lease)
        if self._transport is not None:
            await self._transport.close()
        if self._guard_is_ours:
            self.guard.close()
