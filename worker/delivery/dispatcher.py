"""The dispatcher: gives what is offered or claimed to lanes, and keeps the lanes going."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import cached_property, partial
from typing import Any

from store import Store
from store.clock import SECOND
from store.database.backoff import backoff_delay
from store.database.log_context import LOG_CONTEXT
from store.delivery import deliveries
from store.delivery.attempts import DELIVERED, WAITING, Outcome
from store.errors import Busy, Unavailable
from worker.delivery import ended
from worker.delivery.attempter import Attempter
from worker.delivery.claimer import RETRY_DELAY, Claimer
from worker.delivery.concurrency import UNKNOWN_HOST, FairSemaphore, Permit
from worker.delivery.lane import MAX_QUEUE, Lane, QueuedDelivery
from worker.delivery.lanes import Lanes
from worker.delivery.lease_buffer import LeaseBuffer
from worker.delivery.local_dispatch import LocalDispatcher
from worker.delivery.metrics import WorkerMetrics
from worker.delivery.payload_cache import PayloadCache
from worker.delivery.recorder import Recorder
from worker.delivery.start_throttle import StartThrottle
from worker.delivery.target import Target
from worker.delivery.target_cache import TargetCache
from worker.delivery.watchdog import Watchdog
from worker.http.answer import Withheld
from worker.http.guard import Guard
from worker.http.transport import HttpSender
from worker.settings import WorkerSettings

log = logging.getLogger("tocsin.worker")

# Seconds for recording what ended at the last moment.
FINAL_FLUSH_SECONDS = 1.0
# Seconds for which a hook goes on with its turn while others wait to send to the same machine: to
# one that answers fast it sends several deliveries, on a slow one they alternate.
QUANTUM = 0.01
# An attempt takes no longer, whatever the settings and options say.
MAX_ATTEMPT_SECONDS = 120.0


class Dispatcher:
    """Deliveries from the store to the network."""

    def __init__(
        self, store: Store, settings: WorkerSettings, guard: Guard, poster: HttpSender
    ) -> None:
        self._store = store
        contents = PayloadCache(store)
        self._target_cache = TargetCache(store, settings, guard)
        self._attempter = Attempter(store, contents, poster)
        self.pulse = Watchdog()
        self._recorder = Recorder(store, self._on_recorded, self.pulse)
        self.lanes = Lanes()
        self._buffer = LeaseBuffer(store)
        self.claims = Claimer(store, self._buffer, self._on_claimed, self.pulse)
        self.intake = LocalDispatcher(self.lanes, self._buffer, contents, self.claims, self._pump)
        self._turns = FairSemaphore(settings.max_in_flight, settings.max_in_flight_per_host)
        self._throttle = StartThrottle(lambda: store.pending_durable, self._resume_waiting)
        self._tasks: set[asyncio.Task[None]] = set()
        self._store_failures = 0
        self.measures = WorkerMetrics()
        self.measures.in_flight.read = lambda: self.in_flight
        self.measures.buffered.read = lambda: self.queued
        self.measures.cooling_down.read = lambda: self.lanes.cooling_down
        self.measures.held.read = lambda: self._turns.held

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
        return self._buffer.queued

    @property
    def lag(self) -> float:
        """For how many seconds something waits for this worker, and not for its endpoint."""
        wanted = (self._turns.waiting_since(), self.claims.waiting_since)
        moments = [moment for moment in wanted if moment is not None]
        now = self._loop.time()
        return max(now - min(moments, default=now), 0.0)

    # Lanes.

    def _on_claimed(self, lanes: list[Lane], ids: Sequence[int]) -> None:
        self._buffer.take(ids)
        for lane in lanes:
            self._pump(lane)

    def _pump(self, lane: Lane) -> None:
        """Start what the lane may have in flight."""
        begun = False
        while lane.can_start() and not self._buffer.ended:
            now = self._loop.time()
            # Who has begun one lets those that wait go before the next.
            others = begun and self._turns.wanted(lane.machine)
            if others or self._is_paused() or not self._turns.may(lane.host, lane.machine):
                self._turns.enqueue(lane, now)
                break
            wait = lane.wait(now)
            if wait > 0:
                self._resume_later(lane, wait)
                break
            lane.count_request(now)
            begun = True
            lane.in_flight += 1
            turn = self._turns.take(lane.host, lane.machine)
            if self.in_flight == 1:
                self._reset_watchdog()
            self._spawn(self._run(lane, self._pop_delivery(lane), turn))
        self.lanes.settle(lane)

    def _is_paused(self) -> bool:
        """Whether nothing is to be begun right now."""
        return self._throttle.over or self._is_blocked()

    def _is_blocked(self) -> bool:
        """Whether what is sent now could not be recorded, or not as this worker's."""
        return self._recorder.full or not self._buffer.can_send

    def _pop_delivery(self, lane: Lane) -> QueuedDelivery:
        self._buffer.queued -= 1
        self._throttle.begin()
        return lane.queue.popleft()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _resume_waiting(self) -> None:
        while not self._is_paused() and (lane := self._turns.next()) is not None:
            self._pump(lane)

    def _resume_later(self, lane: Lane, wait: float) -> None:
        if not lane.has_timer:
            lane.has_timer = True
            self._loop.call_later(wait, self._resume, lane)

    def _resume(self, lane: Lane) -> None:
        lane.has_timer = False
        now = self._loop.time()
        lane.end_cooldown(now)
        if lane.cooldown_until:
            # The timer was for something else, and no other one was set for the rest.
            self._resume_later(lane, lane.cooldown_until - now)
            return
        self._pump(lane)
        self.claims.soon()

    async def _run(self, lane: Lane, item: QueuedDelivery, turn: Permit) -> None:
        """Deliver this and more of the lane's queue, for as long as it may be in flight."""
        turn.until = self._loop.time() + QUANTUM
        may_reach = partial(self._may_reach, lane, turn)
        try:
            while await self._deliver(lane, item, turn, may_reach):
                self._refill(lane)
                if not lane.queue or self._should_yield(lane, turn):
                    break
                item = self._pop_delivery(lane)
                if lane.can_start():
                    self._pump(lane)
        finally:
            lane.in_flight -= 1
            self._turns.give(turn)
            if not self.in_flight:
                self._reset_watchdog()
            if not self._buffer.ended:
                self._resume_waiting()
                self._pump(lane)

    def _reset_watchdog(self) -> None:
        if self.in_flight:
            self.pulse.arm("attempts", MAX_ATTEMPT_SECONDS)
        else:
            self.pulse.rest("attempts")

    def _refill(self, lane: Lane) -> None:
        """Ask the store for more before the queue runs dry."""
        if len(lane.queue) <= MAX_QUEUE // 2:
            self.lanes.settle(lane)
            if lane.backlog:
                self.claims.soon()

    def _should_yield(self, lane: Lane, turn: Permit) -> bool:
        if self._buffer.ended or self._is_paused() or lane.cooldown_until:
            return True
        if self._turns.wanted_elsewhere():
            return True
        if self._turns.wanted_for(lane.machine) and self._loop.time() >= turn.until:
            return True
        return lane.in_flight > lane.limit or lane.rate is not None

    async def _deliver(
        self, lane: Lane, item: QueuedDelivery, turn: Permit, may_reach: Callable[[str], bool]
    ) -> bool:
        """See to one attempt; False where it is not the time for it after all."""
        lease_id = self._buffer.lease
        assert lease_id is not None, "nothing is in hand without a lease"
        LOG_CONTEXT.set({"delivery_id": item.delivery_id, "hook_id": lane.hook_id})
        try:
            target = self._target_cache.known(lane, item) or await self._target(lane, item)
            if turn.host == UNKNOWN_HOST != lane.host and not self._move(lane, turn):
                self._requeue(lane, item, lease_id)
                return False
            may_send = partial(self._buffer.holds, lease_id)
            outcome = await self._attempter.make(
                target, item, lane.hook_id, lease_id, may_send, may_reach
            )
        except Withheld:
            self._requeue(lane, item, lease_id)
            return False
        except (Busy, Unavailable) as error:
            self._retry_later(lane, item, lease_id, error)
            return False
        self._store_failures = 0
        self._on_outcome(lane, item, outcome)
        return True

    def _move(self, lane: Lane, turn: Permit) -> bool:
        return self._turns.move(turn, lane.host, lane.machine)

    def _may_reach(self, lane: Lane, turn: Permit, address: str) -> bool:
        """Count the request for the machine that it is about to be sent to; False where that has
        what it may. The lane then waits for that machine.
        """
        lane.machine = address
        return self._turns.reach(turn, address)

    def _on_outcome(self, lane: Lane, item: QueuedDelivery, outcome: Outcome | None) -> None:
        if outcome is None:
            self._buffer.ids.discard(item.delivery_id)
            self.measures.deliveries.add("dropped")
            self._reset_watchdog()
        else:
            self._recorder.add(outcome)
            self._update_lane(lane, outcome)

    def _retry_later(
        self, lane: Lane, item: QueuedDelivery, lease_id: int, error: Exception
    ) -> None:
        if not self._store_failures:
            log.error("hook %d waits for the store: %s", lane.hook_id, error)
        self._store_failures += 1
        self._reset_watchdog()
        self._requeue(lane, item, lease_id)
        wait = backoff_delay(self._store_failures, first=RETRY_DELAY, longest=4 * RETRY_DELAY)
        lane.pause(self._loop.time() + wait)

    def _requeue(self, lane: Lane, item: QueuedDelivery, lease_id: int) -> None:
        if lease_id != self._buffer.lease:
            # That lease has ended, and others may have the delivery in hand.
            return
        lane.queue.appendleft(item)
        self._buffer.queued += 1

    async def _target(self, lane: Lane, item: QueuedDelivery) -> Target | None:
        known = lane.target is not None
        target = await self._target_cache.target(lane, item)
        if not known:
            # This request was started before it was known what the hook allows.
            lane.count_request(self._loop.time())
            self._pump(lane)
        return target

    def _update_lane(self, lane: Lane, outcome: Outcome) -> None:
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
            outcome.cooldown_until = self._store.clock.now() + round(rest * SECOND)
            self._resume_later(lane, rest)
            self._return_queue(lane)

    def _return_queue(self, lane: Lane) -> None:
        """Leave to the store what the lane has not tried."""
        ids = [item.delivery_id for item in lane.queue]
        self._buffer.leave(ids)
        lane.queue.clear()
        self.claims.mark(lane)
        if ids and self._buffer.lease is not None:
            self._spawn(self._release(lane.hook_id, self._buffer.lease, ids))

    async def _release(self, hook_id: int, lease_id: int, ids: Sequence[int]) -> None:
        await self._buffer.release(lease_id, ids, RETRY_DELAY)
        self.intake.wake([hook_id])

    def _on_recorded(self, outcomes: Sequence[Outcome], disabled: set[int]) -> None:
        self._reset_watchdog()
        self._buffer.ids.difference_update(outcome.delivery_id for outcome in outcomes)
        self.measures.recorded(outcomes, len(disabled))
        ended.log_dead(outcomes)
        for outcome in outcomes:
            if outcome.state == WAITING:
                self.claims.agenda.enter(self.lanes.of(outcome.hook_id), outcome.due_at)
        for hook_id in disabled:
            log.warning("hook %d was disabled: see its reason", hook_id)
            self.lanes.of(hook_id).forget()
        self._resume_waiting()

    # The worker's side.

    def hold(self, lease_id: int) -> None:
        """Work under this lease. What is in hand under another one is left to others."""
        for lane in self.lanes:
            if lane.queue:
                self._return_queue(lane)
        self._buffer.adopt_lease(lease_id)

    def keep(self, until: int) -> None:
        """Send until this moment (microseconds), when the lease may end."""
        self._buffer.keep(until)
        self._resume_waiting()

    async def reconcile(self) -> None:
        """Give back what is under the lease and not in hand, for whatever reason."""
        await self._buffer.reconcile()

    async def scan(self) -> None:
        """Learn from the store what waits there: at the start, and now and then as a net."""
        await self._target_cache.check([*self.lanes])
        for hook_id, due_at in (await self._store.read(deliveries.waiting_hooks)).items():
            self.claims.agenda.enter(self.lanes.of(hook_id), due_at)
        self.lanes.sweep()
        self.claims.ring()

    def change(self, settings: WorkerSettings) -> None:
        """Work by these settings from the next attempt of each hook on."""
        self._turns.change(settings.max_in_flight, settings.max_in_flight_per_host)
        self._target_cache.change(settings, self.lanes)
        self._resume_waiting()

    async def stop(self, seconds: float) -> None:
        """Start nothing more, let what is in flight end for so long, record it."""
        self._buffer.ended = True
        ends = self._loop.time() + seconds
        await self.claims.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._recorder.drain(max(ends - self._loop.time(), FINAL_FLUSH_SECONDS))
