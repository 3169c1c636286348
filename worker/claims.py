"""Claims: what is due is taken from the store hook by hook, for lanes that have room.

So a backlog of one endpoint is never in the way of another's, and memory holds lanes, not queues.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from store import Store, deliveries
from store.backoff import pause
from store.errors import Busy, Unavailable
from worker.agenda import Agenda
from worker.hand import Hand
from worker.lane import ROOM, Item, Lane
from worker.pulse import Pulse

log = logging.getLogger("tocsin.worker")

EACH = 128
# With memory full of what cannot be sent, those that send still get their next few.
FEW = 8
HOOKS = 200
AGAIN_AFTER = 0.5
BESIDE = 0.05


class Claims:
    """Fills lanes from the store. While memory is crowded only empty lanes get something;
    `filled` is called with the lanes of a claim and the ids of the deliveries it brought.
    """

    def __init__(
        self,
        store: Store,
        hand: Hand,
        filled: Callable[[list[Lane], Sequence[int]], None],
        pulse: Pulse | None = None,
    ) -> None:
        self._store = store
        self._pulse = pulse or Pulse()
        self._hand = hand
        self._filled = filled
        self._backlog: dict[int, Lane] = {}
        self._claiming: asyncio.Task[None] | None = None
        self._closed = False
        self._failures = 0
        self.wanted_at: float | None = None
        """Since when claims are wanted and none was made; None while none is wanted."""
        self.agenda = Agenda(store.clock, self.ring)

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
            self.wanted_at = None
        else:
            if self.wanted_at is None:
                self.wanted_at = asyncio.get_running_loop().time()
            self._claiming = asyncio.create_task(self._claim())

    async def _claim(self) -> None:
        try:
            while lanes := self._with_room():
                await self._claim_for(lanes)
                self._failures = 0
                self.wanted_at = asyncio.get_running_loop().time()
            self.wanted_at = None
        except (Busy, Unavailable) as error:
            log.error("nothing can be claimed: %s", error)
            self._failures += 1
            wait = pause(self._failures, first=AGAIN_AFTER, longest=8 * AGAIN_AFTER)
            asyncio.get_running_loop().call_later(wait, self.soon)
        finally:
            self._claiming = None

    @property
    def _keep(self) -> Callable[..., Awaitable[Any]]:
        # A database that forgets a claim when it crashes would give the same to another worker.
        return self._store.note if self._store.engine.exclusive else self._store.write

    def _with_room(self) -> list[Lane]:
        if self._closed or self._hand.open_lease is None:
            return []
        most = 0 if self._hand.crowded else ROOM - EACH
        chosen = []
        for lane in self._backlog.values():
            if not lane.full and len(lane.queue) <= most:
                chosen.append(lane)
                if len(chosen) == HOOKS:
                    break
        return chosen

    async def _claim_for(self, lanes: list[Lane]) -> None:
        lease_id = self._hand.open_lease
        assert lease_id is not None
        by_id = {lane.hook_id: lane for lane in lanes}
        doubts = {lane.hook_id: lane.doubts for lane in lanes}
        for lane in lanes:
            lane.backlog = False
            lane.claiming = True
            del self._backlog[lane.hook_id]
        try:
            each = FEW if self._hand.crowded else EACH
            with self._pulse.during("claiming"):
                claimed, next_due = await self._keep(deliveries.claim, by_id, lease_id, each)
        except BaseException:
            for lane in lanes:
                self.mark(lane)
            raise
        finally:
            for lane in lanes:
                lane.claiming = False
        if self._hand.open_lease not in (lease_id, None):
            # The lease ended meanwhile, and with it the claim.
            self._look_again(lanes)
            return
        # Who says that there is something due cannot say whether the hook was edited; this can.
        for hook_id, version in {one.hook_id: one.version for one in claimed}.items():
            by_id[hook_id].confirm(version, doubts[hook_id])
        for one in claimed:
            by_id[one.hook_id].queue.append(
                Item(one.id, one.event_id, one.attempts, one.redelivery, one.version)
            )
        self._expect(by_id, next_due, {one.hook_id for one in claimed})
        self._filled(lanes, [one.id for one in claimed])

    def _expect(self, lanes: dict[int, Lane], next_due: dict[int, int], filled: set[int]) -> None:
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
            wait = pause(1, first=BESIDE)
            asyncio.get_running_loop().call_later(wait, self._look_again, passed_over)

    def _look_again(self, lanes: list[Lane]) -> None:
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
