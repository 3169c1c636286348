"""Claims: what is due is taken from the store hook by hook, for lanes that have room.

So a backlog of one endpoint is never in the way of another's, and memory holds lanes, not queues.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from store import Store
from store.database.backoff import backoff_delay
from store.delivery import deliveries
from store.errors import Busy, Unavailable
from worker.delivery.lane import MAX_QUEUE, Lane, QueuedDelivery
from worker.delivery.lease_buffer import LeaseBuffer
from worker.delivery.retry_timer import RetryTimer
from worker.delivery.watchdog import Watchdog

log = logging.getLogger("tocsin.worker")

BATCH = 128
# With memory full of what cannot be sent, those that send still get their next few.
CROWDED_BATCH = 8
MAX_LANES = 200
RETRY_DELAY = 0.5
CONTENTION_DELAY = 0.05


class Claimer:
    """Fills lanes from the store. While memory is crowded only empty lanes get something;
    `filled` is called with the lanes of a claim and the ids of the deliveries it brought.
    """

    def __init__(
        self,
        store: Store,
        hand: LeaseBuffer,
        filled: Callable[[list[Lane], Sequence[int]], None],
        pulse: Watchdog | None = None,
    ) -> None:
        self._store = store
        self._pulse = pulse or Watchdog()
        self._buffer = hand
        self._on_claimed = filled
        self._backlog: dict[int, Lane] = {}
        self._claiming: asyncio.Task[None] | None = None
        self._closed = False
        self._failures = 0
        self.waiting_since: float | None = None
        """Since when claims are wanted and none was made; None while none is wanted."""
        self.agenda = RetryTimer(store.clock, self.ring)

    def mark(self, lane: Lane) -> None:
        """The store may hold something due for this lane."""
        lane.backlog = True
        self._backlog[lane.hook_id] = lane

    def ring(self) -> None:
        """Take up what has become due."""
        for lane in self.agenda.due():
            self.mark(lane)
        self.soon()

    def soon(self) -> None:
        """Claim for the marked lanes, once those that are under way are done."""
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
        except (Busy, Unavailable) as error:
            log.error("nothing can be claimed: %s", error)
            self._failures += 1
            wait = backoff_delay(self._failures, first=RETRY_DELAY, longest=8 * RETRY_DELAY)
            asyncio.get_running_loop().call_later(wait, self.soon)
        finally:
            self._claiming = None

    @property
    def _write(self) -> Callable[..., Awaitable[Any]]:
        # A database that forgets a claim when it crashes would give the same to another worker.
        return self._store.note if self._store.engine.single_worker else self._store.write

    def _claimable_lanes(self) -> list[Lane]:
        if self._closed or self._buffer.open_lease is None:
            return []
        most = 0 if self._buffer.over_capacity else MAX_QUEUE - BATCH
        chosen = []
        for lane in self._backlog.values():
            if not lane.full and len(lane.queue) <= most:
                chosen.append(lane)
                if len(chosen) == MAX_LANES:
                    break
        return chosen

    async def _claim_for(self, lanes: list[Lane]) -> None:
        lease_id = self._buffer.open_lease
        assert lease_id is not None
        by_id = {lane.hook_id: lane for lane in lanes}
        doubts = {lane.hook_id: lane.doubts for lane in lanes}
        for lane in lanes:
            lane.backlog = False
            lane.claiming = True
            del self._backlog[lane.hook_id]
        try:
            each = CROWDED_BATCH if self._buffer.over_capacity else BATCH
            with self._pulse.watch("claiming"):
                claimed, next_due = await self._write(deliveries.claim, by_id, lease_id, each)
        except BaseException:
            for lane in lanes:
                self.mark(lane)
            raise
        finally:
            for lane in lanes:
                lane.claiming = False
        if self._buffer.open_lease not in (lease_id, None):
            # The lease ended meanwhile, and with it the claim.
            self._recheck(lanes)
            return
        # Who says that there is something due cannot say whether the hook was edited; this can.
        for hook_id, version in {one.hook_id: one.version for one in claimed}.items():
            by_id[hook_id].confirm(version, doubts[hook_id])
        for one in claimed:
            by_id[one.hook_id].queue.append(
                QueuedDelivery(one.id, one.event_id, one.attempts, one.redelivery, one.version)
            )
        self._set_next_due(by_id, next_due, {one.hook_id for one in claimed})
        self._on_claimed(lanes, [one.id for one in claimed])

    def _set_next_due(
        self, lanes: dict[int, Lane], next_due: dict[int, int], filled: set[int]
    ) -> None:
        now = self._store.clock.now()
        passed_over = []
        for hook_id, due_at in next_due.items():
            if due_at > now:
                self.agenda.enter(lanes[hook_id], due_at)
            elif hook_id in filled:
                self.mark(lanes[hook_id])
            else:
                passed_over.append(lanes[hook_id])
        if passed_over:
            # Another worker is taking it at this moment: how that ends is seen a little later.
            wait = backoff_delay(1, first=CONTENTION_DELAY)
            asyncio.get_running_loop().call_later(wait, self._recheck, passed_over)

    def _recheck(self, lanes: list[Lane]) -> None:
        for lane in lanes:
            self.mark(lane)
        self.soon()

    def forget(self, lane: Lane) -> None:
        """Claim no more for this lane until it is marked again."""
        self._backlog.pop(lane.hook_id, None)

    async def close(self) -> None:
        """Claim nothing more, and wait for the claim that is under way."""
        self._closed = True
        self.agenda.close()
        if self._claiming is not None:
            await asyncio.wait([self._claiming])
