"""The deliveries that this worker has leased and holds in memory.

`LocalDispatcher` adds the deliveries of events that this process stores.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from store import Store
from store.database.backoff import backoff_delay
from store.database.notifications import LeasedEvent
from store.delivery import deliveries, leases
from store.delivery.websub.websub import WEBSUB_WAKEUP
from store.errors import Busy, Unavailable
from store.jobs.jobs import JOBS_WAKEUP
from worker.delivery.lane import Lane, QueuedDelivery
from worker.delivery.lane_table import LaneTable
from worker.delivery.payload import Payload
from worker.delivery.payload_cache import PayloadCache
from worker.tuning import DEFAULTS, Tuning

log = logging.getLogger("tocsin.worker")

T = TypeVar("T")


class LeasedDeliveries:
    """The leased deliveries in memory.

    `lease` is the lease under which deliveries are claimed, and `ids` are the deliveries in memory.
    They may be sent until a time that each renewal of the lease moves on.
    """

    def __init__(self, store: Store, tuning: Tuning = DEFAULTS) -> None:
        self._store = store
        self._tuning = tuning
        self._until = 0
        self.lease: int | None = None
        self.ids: set[int] = set()
        self.queued = 0
        """The number of deliveries that wait in lanes."""
        self.closed = False
        """Whether adding and starting have ended for good."""

    def add(self, ids: Collection[int]) -> None:
        """Count deliveries that the caller puts into lanes."""
        self.ids.update(ids)
        self.queued += len(ids)

    def hold(self, ids: Collection[int]) -> None:
        """Count deliveries that are about to be sent, and wait in no lane."""
        self.ids.update(ids)

    def pop(self, lane: Lane) -> QueuedDelivery:
        """Remove and return the lane's next delivery, which is about to be sent."""
        self.queued -= 1
        return lane.queue.popleft()

    def requeue(self, lane: Lane, item: QueuedDelivery, lease_id: int) -> None:
        """Put a delivery back that was not sent after all.

        If its lease has ended, another worker may have it, and it is dropped.
        """
        if lease_id == self.lease:
            lane.queue.appendleft(item)
            self.queued += 1

    def empty(self, lane: Lane) -> list[int]:
        """Remove the waiting deliveries of a lane. Return their ids, for `release`."""
        ids = [item.delivery_id for item in lane.queue]
        self.ids.difference_update(ids)
        self.queued -= len(ids)
        lane.queue.clear()
        return ids

    @property
    def over_capacity(self) -> bool:
        """Return whether memory holds more deliveries than it should."""
        return self.queued > self._tuning.max_buffered

    @property
    def open_lease(self) -> int | None:
        """Return the lease for new claims, whether there is room or not. Return None if there is
        none.
        """
        return None if self.closed else self.lease

    def adopt_lease(self, lease_id: int) -> None:
        """Work under this lease.

        Deliveries under another lease are no longer this worker's.
        """
        self.lease = lease_id
        self.ids.clear()

    def extend(self, until: int) -> None:
        """Allow sending until this time (microseconds). Later the lease may have ended."""
        self._until = until

    @property
    def can_send(self) -> bool:
        """Return whether the lease certainly lasts."""
        return self._store.clock.now() < self._until

    def holds(self, lease_id: int) -> bool:
        """Return whether this is the current lease and it certainly lasts."""
        return self.lease == lease_id and self.can_send

    async def reconcile(self) -> None:
        """Return deliveries to the store that are leased and not in memory.

        If a connection is lost during a commit, its result is unknown. Then deliveries may be
        leased to a worker that never received them. A database that has crashed may have forgotten
        the outcomes that were recorded last.
        """
        lease_id = self.lease
        if lease_id is None:
            return
        # This goes through the writer, so everything that was committed before has been received.
        held = await self._store.write_relaxed(leases.delivery_ids, lease_id)
        strays = [delivery_id for delivery_id in held if delivery_id not in self.ids]
        if strays and lease_id == self.lease:
            log.warning(
                "%d deliveries were leased and not in memory: returned to the store", len(strays)
            )
            await self._store.write_relaxed(deliveries.release, lease_id, strays)

    async def claim(self, function: Callable[..., T], *args: Any) -> T:
        """Run a function of the store that claims deliveries."""
        # If a crash of the database undid a claim, another worker could claim the same deliveries.
        write = self._store.write_relaxed if self._store.engine.single_worker else self._store.write
        return await write(function, *args)

    async def release(self, lease_id: int, ids: Iterable[int]) -> None:
        """Return deliveries to the store.

        This is tried until it succeeds or the worker stops.
        """
        delay = self._tuning.store_retry_delay
        tries = 0
        while not self.closed:
            try:
                await self._store.write_relaxed(deliveries.release, lease_id, ids)
            except (Busy, Unavailable):
                tries += 1
                await asyncio.sleep(backoff_delay(tries, first=delay, longest=8 * delay))
            else:
                return

    def finish(self, ids: Iterable[int]) -> None:
        """Forget deliveries whose outcomes are recorded."""
        self.ids.difference_update(ids)


def _ignore() -> None:
    pass


class LocalDispatcher:
    """The `notifications.WorkerNotifier` of this process: the store announces new and due work
    here.

    `start` starts as many deliveries of a lane as may be in flight. `recheck`, `claim_soon` and
    `due` are methods of the claimer. The store also calls `lease` and `full` on the writer's
    thread.
    """

    def __init__(
        self,
        lanes: LaneTable,
        leased: LeasedDeliveries,
        payloads: PayloadCache,
        *,
        start: Callable[[Lane], None],
        recheck: Callable[[int], None],
        claim_soon: Callable[[], None],
        due: Callable[[Iterable[int]], None],
    ) -> None:
        self._lanes = lanes
        self._leased = leased
        self._payloads = payloads
        self._start, self._recheck, self._claim_soon = start, recheck, claim_soon
        self._due = due
        self.on_websub_due: Callable[[], None] = _ignore
        """Called when a WebSub request or topic may be due."""
        self.on_job_due: Callable[[], None] = _ignore
        """Called when a job may be due earlier than expected."""
        self.on_events_stored: Callable[[], None] = _ignore
        """Called when events were stored."""

    def lease(self) -> int | None:
        """Return the lease for deliveries of new events. Return None if they must wait in the
        store.
        """
        return None if self._leased.over_capacity else self._leased.open_lease

    def full(self) -> Collection[int]:
        """Return the hooks whose new deliveries must wait in the store."""
        return self._lanes.full

    def dispatch(self, offers: Sequence[LeasedEvent]) -> None:
        """Put the deliveries of new events into lanes, and start them."""
        touched: dict[int, Lane] = {}
        for offer in offers:
            if offer.lease_id != self._leased.lease:
                continue  # the lease has ended meanwhile: a poll finds the deliveries
            payload = Payload(offer.name, offer.guid, offer.body, accepted_at=offer.accepted_at)
            payload.republished, payload.repo_id = offer.republished, offer.repo_id
            payload.trace = offer.trace
            self._payloads.put(offer.event_id, payload)
            self._leased.add([delivery_id for delivery_id, _, _ in offer.deliveries])
            for delivery_id, hook_id, version in offer.deliveries:
                lane = touched[hook_id] = self._lanes.get(hook_id)
                turn = offer.turns.get(delivery_id)
                lane.queue.append(
                    QueuedDelivery(
                        delivery_id, offer.event_id, 0, 0, version, 0, turn, offer.accepted_at
                    )
                )
        for lane in touched.values():
            self._start(lane)

    def wake(self, hooks: Iterable[int]) -> None:
        """Claim what is due for these hooks, and check whether they were edited."""
        for hook_id in hooks:
            if hook_id == WEBSUB_WAKEUP:
                self.on_websub_due()
            elif hook_id == JOBS_WAKEUP:
                self.on_job_due()
            else:
                self._recheck(hook_id)
        self._claim_soon()

    def due(self, hooks: Iterable[int]) -> None:
        """Claim what is due for these hooks, which were not edited."""
        self._due(hooks)

    def arrived(self) -> None:
        """Report that events were stored."""
        self.on_events_stored()
