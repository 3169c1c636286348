"""The deliveries that this worker has leased and keeps in memory: under which lease, until when."""

import asyncio
import logging
from collections.abc import Collection, Iterable

from store import Store
from store.database.backoff import backoff_delay
from store.delivery import deliveries, leases
from store.errors import Busy, Unavailable
from worker.delivery.lane import Lane, QueuedDelivery
from worker.tuning import DEFAULTS, Tuning

log = logging.getLogger("tocsin.worker")


class LeaseBuffer:
    """`lease` is the lease that deliveries are claimed under, `ids` are those that are in memory.
    They may be sent until a time that moves on with every renewal of the lease.
    """

    def __init__(self, store: Store, tuning: Tuning = DEFAULTS) -> None:
        self._store = store
        self._tuning = tuning
        self._until = 0
        self.lease: int | None = None
        self.ids: set[int] = set()
        self.queued = 0
        """How many of them wait in lanes."""
        self.closed = False
        """Nothing more is added or started."""

    def add(self, ids: Collection[int]) -> None:
        """Count deliveries that the caller puts into lanes."""
        self.ids.update(ids)
        self.queued += len(ids)

    def pop(self, lane: Lane) -> QueuedDelivery:
        """The lane's next delivery, which is about to be sent."""
        self.queued -= 1
        return lane.queue.popleft()

    def requeue(self, lane: Lane, item: QueuedDelivery, lease_id: int) -> None:
        """Put a delivery back that was not sent after all. If its lease has ended, another worker
        may have it.
        """
        if lease_id == self.lease:
            lane.queue.appendleft(item)
            self.queued += 1

    def empty(self, lane: Lane) -> list[int]:
        """Remove what waits in a lane. The ids are for `release`."""
        ids = [item.delivery_id for item in lane.queue]
        self.ids.difference_update(ids)
        self.queued -= len(ids)
        lane.queue.clear()
        return ids

    @property
    def over_capacity(self) -> bool:
        """Whether memory holds as many deliveries as it may."""
        return self.queued > self._tuning.max_buffered

    @property
    def open_lease(self) -> int | None:
        """The lease for new claims, whether there is room or not. None if there is none."""
        return None if self.closed else self.lease

    def adopt_lease(self, lease_id: int) -> None:
        """Work under this lease. Deliveries under another lease are no longer this worker's."""
        self.lease = lease_id
        self.ids.clear()

    def extend(self, until: int) -> None:
        """Allow sending until this time (microseconds). Later the lease may have ended."""
        self._until = until

    @property
    def can_send(self) -> bool:
        """Whether the lease certainly lasts."""
        return self._store.clock.now() < self._until

    def holds(self, lease_id: int) -> bool:
        """Whether this is the current lease and it certainly lasts."""
        return self.lease == lease_id and self.can_send

    async def reconcile(self) -> None:
        """Give back deliveries that are leased and not in memory.

        If a connection is lost during a commit, its result is unknown: deliveries may be leased to
        a worker that never received them. A database that has crashed may have forgotten the
        outcomes that were recorded last.
        """
        lease_id = self.lease
        if lease_id is None:
            return
        # Through the writer: everything that was committed before has been received.
        held = await self._store.note(leases.delivery_ids, lease_id)
        strays = [delivery_id for delivery_id in held if delivery_id not in self.ids]
        if strays and lease_id == self.lease:
            log.warning("%d deliveries were leased and not in memory: given back", len(strays))
            await self._store.note(deliveries.release, lease_id, strays)

    async def release(self, lease_id: int, ids: Iterable[int]) -> None:
        """Give deliveries back. It is tried until it works or the worker stops."""
        delay = self._tuning.retry_delay
        tries = 0
        while not self.closed:
            try:
                await self._store.note(deliveries.release, lease_id, ids)
            except (Busy, Unavailable):
                tries += 1
                await asyncio.sleep(backoff_delay(tries, first=delay, longest=8 * delay))
            else:
                return

    def finish(self, ids: Iterable[int]) -> None:
        """Forget deliveries whose outcomes are recorded."""
        self.ids.difference_update(ids)
