"""The claimer: it claims due deliveries from the store for lanes with room, hook by hook.

It returns deliveries to the store if their lane may not send them. So the backlog of one endpoint
never delays another's, and memory does not have to hold whole queues.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from store import Store
from store.database.backoff import backoff_delay
from store.delivery import deliveries
from store.errors import StoreError
from worker.background_tasks import BackgroundTasks
from worker.delivery.lane import Lane, QueuedDelivery
from worker.delivery.lane_table import LaneTable
from worker.delivery.leased import LeasedDeliveries
from worker.delivery.retry_timer import RetryTimer
from worker.delivery.watchdog import Watchdog
from worker.tuning import DEFAULTS, Tuning

log = logging.getLogger("tocsin.worker")

# If memory is full of deliveries that cannot be sent, lanes that can send still get this many.
CROWDED_BATCH = 8
MAX_LANES = 200
# Seconds after which deliveries that another worker was claiming are checked again.
CONTENTION_DELAY = 0.05


class Claimer:
    """The claimer, which fills lanes from the store and calls `start` with each.

    While memory is full, only empty lanes get deliveries.
    """

    def __init__(
        self,
        store: Store,
        lanes: LaneTable,
        leased: LeasedDeliveries,
        start: Callable[[Lane], None],
        watchdog: Watchdog | None = None,
        tuning: Tuning = DEFAULTS,
    ) -> None:
        self._store = store
        self._watchdog = watchdog or Watchdog()
        self._lanes = lanes
        self._leased = leased
        self._tuning = tuning
        self._start = start
        self._backlog: dict[int, Lane] = {}
        self._claiming: asyncio.Task[None] | None = None
        self._releases = BackgroundTasks()
        self._closed = False
        self._failures = 0
        self.waiting_since: float | None = None
        """The time at which the first lane that waits for a claim was marked. None if none
        waits.
        """
        self.retry_timer = RetryTimer(store.clock, self.claim_due)

    @property
    def idle(self) -> bool:
        """Return whether no claim is under way."""
        return self._claiming is None

    def mark(self, lane: Lane) -> None:
        """Include this lane in the next claim, because the store may hold due deliveries for it."""
        lane.backlog = True
        self._backlog[lane.hook_id] = lane

    def claim_due(self) -> None:
        """Claim the deliveries whose time has come."""
        now = self._store.clock.now()
        for lane in self.retry_timer.pop_due():
            self.mark(lane)
            if not lane.end_hold(now):
                self.retry_timer.schedule(lane, lane.held_until)
            elif lane.queue:
                # A group that was being committed when the hold began may have filled the lane so
                # far that no claim includes it.
                self._start(lane)
        self.claim_soon()

    def claim_soon(self) -> None:
        """Claim for the marked lanes, after the claim that is under way."""
        if self._claiming is not None or self._closed:
            return
        if not self._backlog:
            self.waiting_since = None
        else:
            if self.waiting_since is None:
                self.waiting_since = asyncio.get_running_loop().time()
            self._claiming = asyncio.create_task(self._claim())

    async def _claim(self) -> None:
        try:
            while lanes := self._claimable_lanes():
                await self._claim_for(lanes)
                self._failures = 0
                self.waiting_since = asyncio.get_running_loop().time()
            self.waiting_since = None
        except StoreError as error:
            log.error("nothing can be claimed: %s", error)
            self._failures += 1
            delay = self._tuning.store_retry_delay
            wait = backoff_delay(self._failures, first=delay, longest=8 * delay)
            asyncio.get_running_loop().call_later(wait, self.claim_soon)
        finally:
            self._claiming = None

    def _claimable_lanes(self) -> list[Lane]:
        if self._closed or self._leased.open_lease is None:
            return []
        tuning = self._tuning
        most = 0 if self._leased.over_capacity else tuning.max_queue - tuning.claim_batch
        chosen = []
        for lane in self._backlog.values():
            # Nearly all lanes of a full memory have deliveries, which is quicker to find out.
            if len(lane.queue) <= most and not lane.full:
                chosen.append(lane)
                if len(chosen) == MAX_LANES:
                    break
        return chosen

    async def _claim_for(self, lanes: list[Lane]) -> None:
        lease_id = self._leased.open_lease
        assert lease_id is not None
        by_id = {lane.hook_id: lane for lane in lanes}
        before = {lane.hook_id: lane.invalidations for lane in lanes}
        claimed, next_due = await self._claimed_rows(by_id, lease_id)
        if self._leased.open_lease not in (lease_id, None):
            # The lease ended meanwhile, and the claim with it.
            self._claim_again(lanes)
            return
        # A wake-up does not say whether the hook was edited. The version of a claimed delivery
        # does.
        for hook_id, version in {one.hook_id: one.version for one in claimed}.items():
            by_id[hook_id].confirm(version, before[hook_id])
        for one in claimed:
            by_id[one.hook_id].queue.append(QueuedDelivery.of(one, one.version))
        self._set_next_due(by_id, next_due, {one.hook_id for one in claimed})
        self._leased.add([one.id for one in claimed])
        for lane in lanes:
            self._start(lane)

    async def _claimed_rows(self, lanes: dict[int, Lane], lease_id: int) -> Any:
        """Return the result of `deliveries.claim`. If it fails, the lanes stay marked."""
        for lane in lanes.values():
            lane.backlog = False
            lane.claiming = True
            del self._backlog[lane.hook_id]
        try:
            each = self._batch(len(lanes))
            with self._watchdog.watch("claiming"):
                return await self._leased.claim(deliveries.claim, lanes, lease_id, each)
        except BaseException:
            for lane in lanes.values():
                self.mark(lane)
            raise
        finally:
            for lane in lanes.values():
                lane.claiming = False

    def _batch(self, lanes: int) -> int:
        """Return how many deliveries each of so many lanes gets at most."""
        if self._leased.over_capacity:
            return CROWDED_BATCH
        share = self._tuning.claim_total // lanes
        return max(CROWDED_BATCH, min(share, self._tuning.claim_batch))

    def _set_next_due(
        self, lanes: dict[int, Lane], next_due: dict[int, int], filled: set[int]
    ) -> None:
        now = self._store.clock.now()
        contended = []
        for hook_id, due_at in next_due.items():
            if due_at > now:
                self.retry_timer.schedule(lanes[hook_id], due_at)
            elif hook_id in filled:
                self.mark(lanes[hook_id])
            else:
                contended.append(lanes[hook_id])
        if contended:
            # Another worker is claiming these deliveries now.
            wait = backoff_delay(1, first=CONTENTION_DELAY)
            asyncio.get_running_loop().call_later(wait, self._claim_again, contended)

    def _claim_again(self, lanes: list[Lane]) -> None:
        for lane in lanes:
            self.mark(lane)
        self.claim_soon()

    def recheck(self, hook_id: int) -> None:
        """Claim the due deliveries of a hook, and check whether the hook was edited.

        The caller then calls `claim_soon`.
        """
        lane = self._lanes.get(hook_id)
        # This check saves work, because every event for an endpoint in a cooldown calls `recheck`.
        if not (lane.stale and lane.backlog):
            lane.invalidate()
            self.mark(lane)

    def add_due(self, hook_ids: Iterable[int]) -> None:
        """Claim what has become due in the store for these hooks, which were not edited."""
        for hook_id in hook_ids:
            self.mark(self._lanes.get(hook_id))
        self.claim_soon()

    def give_back(self, lane: Lane) -> None:
        """Return the waiting deliveries of a lane to the store."""
        ids = self._leased.empty(lane)
        self.mark(lane)
        if ids and self._leased.lease is not None:
            self.release(lane.hook_id, self._leased.lease, ids)

    def release(self, hook_id: int, lease_id: int, ids: Sequence[int]) -> None:
        """Return deliveries that are no longer in memory to the store, soon."""
        self._releases.start(self._release(hook_id, lease_id, ids))

    async def _release(self, hook_id: int, lease_id: int, ids: Sequence[int]) -> None:
        await self._leased.release(lease_id, ids)
        self.recheck(hook_id)
        self.claim_soon()

    def stop(self) -> None:
        """Claim nothing more."""
        self._closed = True
        self.retry_timer.close()
        # When the lease ends, its deliveries return to the store.
        self._releases.cancel()

    async def close(self) -> None:
        """Claim nothing more, and wait for the claim that is under way."""
        self.stop()
        if self._claiming is not None:
            await asyncio.wait([self._claiming])
