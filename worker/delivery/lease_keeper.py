"""The worker's lease.

The keeper renews it in time, and polls for work that no wake-up has reported.
"""

import asyncio
import contextlib
import logging

from store import Connection, Store
from store.clock import DAY, SECOND
from store.delivery import deliveries, leases
from store.errors import Busy, Unavailable
from worker.delivery.dispatcher import Dispatcher
from worker.slices import in_slices
from worker.tuning import DEFAULTS, Tuning

log = logging.getLogger("tocsin.worker")

# The lease of an only worker need not end, not even if the clock jumps or the store has a long
# outage.
LIFELONG = 36_500 * DAY
# Microseconds before the end of the lease in which nothing is sent any more. Its outcome might be
# recorded too late.
MARGIN = 10 * SECOND


class LeaseKeeper:
    """The keeper of the lease that a dispatcher works under. `holder` names the worker."""

    def __init__(
        self, store: Store, dispatcher: Dispatcher, holder: str, tuning: Tuning = DEFAULTS
    ) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._holder = holder
        self._tuning = tuning
        self._lock = asyncio.Lock()
        self._end_others_from = 0.0
        self.lease_id: int | None = None
        self.outages = 0
        """The number of polls that failed because the store was unavailable."""

    @property
    def _lifetime(self) -> int:
        return LIFELONG if self._store.engine.single_worker else self._tuning.lease

    @property
    def lag(self) -> float:
        """Return the seconds that work has waited for this worker, and not for an endpoint."""
        dispatcher = self._dispatcher
        waits = (dispatcher.admission.semaphore.waiting_since(), dispatcher.claimer.waiting_since)
        now = asyncio.get_running_loop().time()
        return max(now - min((since for since in waits if since is not None), default=now), 0.0)

    async def acquire(self) -> int:
        """Acquire a new lease, and return its id."""
        # This write is durable. A database that forgot it could give the same id to another worker.
        if self.lease_id is None:
            # There may have been an outage that this process has not seen.
            self._spare_others()
        given = self._holder, self._lifetime
        lease_id, ends_at = await self._store.write(_acquire, *given)
        self.lease_id = lease_id
        for lane in self._dispatcher.lanes:
            if lane.queue:
                # These deliveries are under another lease. They are left to other workers.
                self._dispatcher.claimer.give_back(lane)
        self._dispatcher.leased.adopt_lease(lease_id)
        self.extend(ends_at - MARGIN)
        return lease_id

    def extend(self, until: int) -> None:
        """Allow sending until this time (microseconds), when the lease may end."""
        self._dispatcher.leased.extend(until)
        self._dispatcher.admission.wake()

    async def release(self) -> None:
        """Return all leased deliveries to the store.

        During an outage, the lease expires by itself.
        """
        if self.lease_id is not None:
            with contextlib.suppress(Busy, Unavailable):
                await self._store.write_relaxed(leases.release, self.lease_id)

    async def poll(self) -> None:
        """Renew the lease, end expired leases of others, and read what is due.

        This finds the work that no wake-up has reported.
        """
        async with self._lock:
            try:
                await self._renew_or_acquire()
                await self._dispatcher.leased.reconcile()
                await self.scan()
            except Unavailable:
                self.outages += 1
                self._spare_others()
                raise
            finally:
                self._dispatcher.watchdog.arm("polling", 2 * self._tuning.poll_interval)

    async def scan(self) -> None:
        """Read from the store which deliveries are due and which hooks were edited."""
        lanes, claimer = self._dispatcher.lanes, self._dispatcher.claimer
        await self._dispatcher.targets.check([*lanes])
        waiting = await self._store.read(deliveries.waiting_hooks)
        async for hooks in in_slices(waiting.items()):
            for hook_id, due_at in hooks:
                claimer.retry_timer.schedule(lanes.get(hook_id), due_at)
        async for chosen in in_slices([*lanes]):
            lanes.remove_idle(chosen)
        claimer.claim_due()

    def _spare_others(self) -> None:
        """End no lease of others for a while, because their owners may still renew them."""
        now = asyncio.get_running_loop().time()
        self._end_others_from = now + self._tuning.outage_grace

    async def renew(self) -> None:
        """Renew the lease, beside a poll that may take long.

        If the lease has ended, the next poll acquires another.
        """
        lease_id = self.lease_id
        ends_at = await self._renewed(lease_id, end_others=False)
        if ends_at and lease_id == self.lease_id:
            self.extend(ends_at - MARGIN)

    async def _renew_or_acquire(self) -> None:
        end_others = asyncio.get_running_loop().time() >= self._end_others_from
        ends_at = await self._renewed(self.lease_id, end_others=end_others)
        if ends_at:
            self.extend(ends_at - MARGIN)
            return
        # This process stood still for long, so another worker may have its deliveries.
        log.warning("the lease has expired; continuing under a new one")
        await self.acquire()
        if end_others:
            await self._store.write_relaxed(leases.release_expired)

    async def _renewed(self, lease_id: int | None, *, end_others: bool) -> int:
        assert lease_id is not None, "nothing is renewed before it is acquired"
        return await self._store.write_relaxed(
            _renew, lease_id, self._lifetime, end_others, self.lag
        )


def _acquire(db: Connection, holder: str, lifetime: int) -> tuple[int, int]:
    """Acquire a lease. Return its id, and when it will end."""
    return leases.acquire(db, holder, lifetime), db.now + lifetime


def _renew(db: Connection, lease_id: int, lifetime: int, end_others: bool, lag: float) -> int:
    """Renew a lease.

    Only if that succeeds, end the expired leases of others. Return when the lease will end, or 0 if
    it has ended.
    """
    if not leases.renew(db, lease_id, lifetime, round(lag * SECOND)):
        return 0
    if end_others:
        leases.release_expired(db)
    return db.now + lifetime
