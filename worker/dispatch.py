"""The dispatcher: gives what is offered or claimed to lanes, and keeps the lanes going."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from functools import cached_property
from typing import Any

from store import Store, deliveries
from store.about import ABOUT
from store.attempts import DELIVERED, WAITING, Outcome
from store.backoff import pause
from store.clock import SECOND
from store.errors import Busy, Unavailable
from worker import ended
from worker.aim import Aim
from worker.attempter import Attempter
from worker.claims import AGAIN_AFTER, Claims
from worker.content import Contents
from worker.guard import Guard
from worker.hand import Hand
from worker.intake import Intake
from worker.lane import ROOM, Item, Lane
from worker.lanes import Lanes
from worker.measures import WorkerMeasures
from worker.passes import Passes
from worker.pulse import Pulse
from worker.recorder import Recorder
from worker.settings import WorkerSettings
from worker.target import Target
from worker.transport import Poster
from worker.turns import UNKNOWN, Turn, Turns

log = logging.getLogger("tocsin.worker")

# Seconds for recording what ended at the last moment.
LAST_WORDS = 1.0
# An attempt takes no longer, whatever the settings and options say.
LONGEST_ATTEMPT = 120.0


class Dispatcher:
    """Deliveries from the store to the network."""

    def __init__(
        self, store: Store, settings: WorkerSettings, guard: Guard, poster: Poster
    ) -> None:
        self._store = store
        contents = Contents(store)
        self._aim = Aim(store, settings, guard)
        self._attempter = Attempter(store, contents, poster)
        self.pulse = Pulse()
        self._recorder = Recorder(store, self._recorded, self.pulse)
        self.lanes = Lanes()
        self._hand = Hand(store)
        self.claims = Claims(store, self._hand, self._filled, self.pulse)
        self.intake = Intake(self.lanes, self._hand, contents, self.claims, self._pump)
        self._turns = Turns(settings.max_in_flight)
        self._passes = Passes(lambda: store.awaited, self._unpark)
        self._tasks: set[asyncio.Task[None]] = set()
        self._unread = 0
        self.measures = WorkerMeasures()
        self.measures.in_flight.read = lambda: self.in_flight
        self.measures.in_hand.read = lambda: self.queued
        self.measures.resting.read = lambda: self.lanes.resting

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        # Kept: to ask for it is a system call in Python 3.11, and there are many a delivery.
        return asyncio.get_running_loop()

    @property
    def in_flight(self) -> int:
        """How many requests are."""
        return self._turns.in_flight

    @property
    def queued(self) -> int:
        """How many deliveries are in hand and not in flight."""
        return self._hand.queued

    @property
    def lag(self) -> float:
        """For how many seconds something waits for this worker, and not for its endpoint."""
        wanted = (self._turns.waits_since(), self.claims.wanted_at)
        moments = [moment for moment in wanted if moment is not None]
        now = self._loop.time()
        return max(now - min(moments, default=now), 0.0)

    # Lanes.

    def _filled(self, lanes: list[Lane], ids: Sequence[int]) -> None:
        self._hand.take(ids)
        for lane in lanes:
            self._pump(lane)

    def _pump(self, lane: Lane) -> None:
        """Start what the lane may have in flight."""
        begun = False
        while lane.may_start() and not self._hand.ended:
            now = self._loop.time()
            # Who has begun one lets those that wait go before the next.
            others = begun and self._turns.wanted(lane.host)
            if others or self._waits() or not self._turns.may(lane.host):
                self._turns.park(lane, now)
                break
            wait = lane.wait(now)
            if wait > 0:
                self._resume_later(lane, wait)
                break
            lane.spend(now)
            begun = True
            lane.in_flight += 1
            turn = self._turns.take(lane.host)
            if self.in_flight == 1:
                self._moved()
            self._spawn(self._run(lane, self._next(lane), turn))
        self.lanes.settle(lane)

    def _waits(self) -> bool:
        """Whether nothing is to be begun right now."""
        return self._passes.over or self._held_up()

    def _held_up(self) -> bool:
        """Whether what is sent now could not be recorded, or not as this worker's."""
        return self._recorder.blocked or not self._hand.may_send

    def _next(self, lane: Lane) -> Item:
        self._hand.queued -= 1
        self._passes.begin()
        return lane.queue.popleft()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _unpark(self) -> None:
        while not self._waits() and (lane := self._turns.next()) is not None:
            self._pump(lane)

    def _resume_later(self, lane: Lane, wait: float) -> None:
        if not lane.timed:
            lane.timed = True
            self._loop.call_later(wait, self._resume, lane)

    def _resume(self, lane: Lane) -> None:
        lane.timed = False
        now = self._loop.time()
        lane.rested(now)
        if lane.rest_until:
            # The timer was for something else, and no other one was set for the rest.
            self._resume_later(lane, lane.rest_until - now)
            return
        self._pump(lane)
        self.claims.soon()

    async def _run(self, lane: Lane, item: Item, turn: Turn) -> None:
        """Deliver this and more of the lane's queue, for as long as it may be in flight."""
        try:
            while await self._deliver(lane, item, turn):
                self._refill(lane)
                if not lane.queue or self._gives_way(lane):
                    break
                item = self._next(lane)
                if lane.may_start():
                    self._pump(lane)
        finally:
            lane.in_flight -= 1
            self._turns.give(turn)
            if not self.in_flight:
                self._moved()
            if not self._hand.ended:
                self._unpark()
                self._pump(lane)

    def _moved(self) -> None:
        if self.in_flight:
            self.pulse.expect("attempts", LONGEST_ATTEMPT)
        else:
            self.pulse.rest("attempts")

    def _refill(self, lane: Lane) -> None:
        """Ask the store for more before the queue runs dry."""
        if len(lane.queue) <= ROOM // 2:
            self.lanes.settle(lane)
            if lane.backlog:
                self.claims.soon()

    def _gives_way(self, lane: Lane) -> bool:
        if self._hand.ended or self._waits() or lane.rest_until or self._turns.wanted(lane.host):
            return True
        return lane.in_flight > lane.limit or lane.rate is not None

    async def _deliver(self, lane: Lane, item: Item, turn: Turn) -> bool:
        """See to one attempt; False where it is not the time for it after all."""
        lease_id = self._hand.lease
        assert lease_id is not None, "nothing is in hand without a lease"
        ABOUT.set({"delivery_id": item.delivery_id, "hook_id": lane.hook_id})
        try:
            target = self._aim.known(lane, item) or await self._target(lane, item)
            if turn.host == UNKNOWN != lane.host and not self._turns.move(turn, lane.host):
                self._keep(lane, item)
                return False
            outcome = await self._attempter.make(target, item, lane.hook_id, lease_id)
        except (Busy, Unavailable) as error:
            self._put_back(lane, item, error)
            return False
        self._unread = 0
        self._ended(lane, item, outcome)
        return True

    def _ended(self, lane: Lane, item: Item, outcome: Outcome | None) -> None:
        if outcome is None:
            self._hand.ids.discard(item.delivery_id)
            self.measures.deliveries.add("dropped")
            self._moved()
        else:
            self._recorder.add(outcome)
            self._learn(lane, outcome)

    def _put_back(self, lane: Lane, item: Item, error: Exception) -> None:
        if not self._unread:
            log.error("hook %d waits for the store: %s", lane.hook_id, error)
        self._unread += 1
        self._moved()
        self._keep(lane, item)
        wait = pause(self._unread, first=AGAIN_AFTER, longest=4 * AGAIN_AFTER)
        lane.pause(self._loop.time() + wait)

    def _keep(self, lane: Lane, item: Item) -> None:
        lane.queue.appendleft(item)
        self._hand.queued += 1

    async def _target(self, lane: Lane, item: Item) -> Target | None:
        known = lane.target is not None
        target = await self._aim.target(lane, item)
        if not known:
            # This request was started before it was known what the hook allows.
            lane.spend(self._loop.time())
            self._pump(lane)
        return target

    def _learn(self, lane: Lane, outcome: Outcome) -> None:
        if outcome.state == DELIVERED:
            lane.succeeded()
        elif rest := lane.failed(self._loop.time()):
            log.warning(
                "hook %d rests for %.0f s after %d failures in a row",
                lane.hook_id,
                rest,
                lane.failures,
            )
            # Before it is recorded, which is never at once.
            outcome.rests_until = self._store.clock.now() + round(rest * SECOND)
            self._resume_later(lane, rest)
            self._give_back(lane)

    def _give_back(self, lane: Lane) -> None:
        """Leave to the store what the lane has not tried."""
        ids = [item.delivery_id for item in lane.queue]
        self._hand.leave(ids)
        lane.queue.clear()
        self.claims.mark(lane)
        if ids and self._hand.lease is not None:
            self._spawn(self._release(lane.hook_id, self._hand.lease, ids))

    async def _release(self, hook_id: int, lease_id: int, ids: Sequence[int]) -> None:
        await self._hand.release(lease_id, ids, AGAIN_AFTER)
        self.intake.wake([hook_id])

    def _recorded(self, outcomes: Sequence[Outcome], disabled: set[int]) -> None:
        self._moved()
        self._hand.ids.difference_update(outcome.delivery_id for outcome in outcomes)
        self.measures.recorded(outcomes, len(disabled))
        ended.tell(outcomes)
        for outcome in outcomes:
            if outcome.state == WAITING:
                self.claims.agenda.enter(self.lanes.of(outcome.hook_id), outcome.due_at)
        for hook_id in disabled:
            log.warning("hook %d was disabled: see its reason", hook_id)
            self.lanes.of(hook_id).forget()
        self._unpark()

    # The worker's side.

    def hold(self, lease_id: int) -> None:
        """Work under this lease. What is in hand under another one is left to others."""
        for lane in self.lanes:
            if lane.queue:
                self._give_back(lane)
        self._hand.take_up(lease_id)

    def keep(self, until: int) -> None:
        """Send until this moment (microseconds), when the lease may end."""
        self._hand.keep(until)
        self._unpark()

    async def reconcile(self) -> None:
        """Give back what is under the lease and not in hand, for whatever reason."""
        await self._hand.reconcile()

    async def scan(self) -> None:
        """Learn from the store what waits there: at the start, and now and then as a net."""
        await self._aim.check([*self.lanes])
        for hook_id, due_at in (await self._store.read(deliveries.waiting_hooks)).items():
            self.claims.agenda.enter(self.lanes.of(hook_id), due_at)
        self.lanes.sweep()
        self.claims.ring()

    def change(self, settings: WorkerSettings) -> None:
        """Work by these settings from the next attempt of each hook on."""
        self._turns.most = settings.max_in_flight
        self._aim.change(settings, self.lanes)
        self._unpark()

    async def stop(self, seconds: float) -> None:
        """Start nothing more, let what is in flight end for so long, record it."""
        self._hand.ended = True
        ends = self._loop.time() + seconds
        await self.claims.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._recorder.drain(max(ends - self._loop.time(), LAST_WORDS))
