"""The dispatcher: it takes each delivery from the wake-up to its recorded outcome."""

from collections.abc import Callable, Sequence
from functools import partial

from store import Store
from store.database.log_context import LOG_CONTEXT
from store.delivery.outcomes.outcome import Outcome
from store.tracing import Tracer
from worker.background_tasks import BackgroundTasks
from worker.delivery.admission import Admission
from worker.delivery.batches.sender import BatchSender, Result
from worker.delivery.claimer import Claimer
from worker.delivery.concurrency import Permit
from worker.delivery.lane import Lane, QueuedDelivery
from worker.delivery.lane_table import LaneTable
from worker.delivery.leased import LeasedDeliveries, LocalDispatcher
from worker.delivery.metrics import WorkerMetrics
from worker.delivery.outcome_handler import OutcomeHandler
from worker.delivery.payload_cache import PayloadCache
from worker.delivery.recorder import Recorder
from worker.delivery.send import DeliverySender, SendChecks
from worker.delivery.spans import DeliverySpans
from worker.delivery.target import Target
from worker.delivery.target_cache import TargetCache
from worker.delivery.watchdog import Watchdog
from worker.endpoint_access.handshake import Handshaker
from worker.endpoint_access.token_cache import TokenCache
from worker.http.answer import Shortage, Withheld
from worker.http.guard import Guard
from worker.http.transport import HttpSender
from worker.loop_bound import LoopBound
from worker.settings import WorkerSettings
from worker.tuning import DEFAULTS, Tuning

Run = tuple[Lane, QueuedDelivery, Permit]
"""Deliveries of a lane with one permit, one after another: the lane, the first one, the permit."""


class Dispatcher(LoopBound):
    """The dispatcher of a worker, with all parts of the delivery loop."""

    def __init__(
        self,
        store: Store,
        settings: WorkerSettings,
        guard: Guard,
        sender: HttpSender,
        tuning: Tuning = DEFAULTS,
        tracer: Tracer | None = None,
    ) -> None:
        self._store, self._tuning = store, tuning
        spans = None if tracer is None else DeliverySpans(tracer)
        payloads = PayloadCache(store)
        tokens = TokenCache(guard, sender, store.clock)
        self.targets = TargetCache(store, settings, guard, Handshaker(sender, tokens))
        self._sender = DeliverySender(store, payloads, sender, tokens, spans)
        self.watchdog = Watchdog()
        self._recorder = Recorder(store, self._on_recorded, self.watchdog, tuning, spans)
        self.metrics = WorkerMetrics()
        self.lanes = LaneTable(tuning)
        self.leased = LeasedDeliveries(store, tuning)
        self.claimer = Claimer(store, self.lanes, self.leased, self._start, self.watchdog, tuning)
        self._batches = BatchSender(
            store, payloads, self._sender, self.leased, self._start, self.claimer.release, spans
        )
        self.local = LocalDispatcher(
            self.lanes,
            self.leased,
            payloads,
            start=self._start,
            recheck=self.claimer.recheck,
            claim_soon=self.claimer.claim_soon,
            due=self.claimer.add_due,
        )
        self.admission = Admission(
            settings,
            blocked=lambda: self._recorder.full or not self.leased.can_send,
            pending_writes=lambda: store.pending_durable,
            start=self._start,
            rested=self._on_rested,
            time_to_fill=self._batches.seconds_to_fill,
            tuning=tuning,
        )
        self._outcomes = OutcomeHandler(
            store,
            self._recorder,
            self.lanes,
            self.leased,
            self.claimer,
            self.admission,
            self.metrics,
            self._reset_watchdog,
            tuning,
        )
        self._tasks = BackgroundTasks()
        self._handing_over = False
        self._handed: Run | None = None
        self.metrics.in_flight.read = lambda: self.in_flight
        self.metrics.buffered.read = lambda: self.queued
        self.metrics.cooling_down.read = lambda: self.lanes.cooling_down
        self.metrics.held.read = lambda: self.admission.semaphore.held

    # Starting deliveries.

    def _on_rested(self, lane: Lane) -> None:
        self._start(lane)
        self.claimer.claim_soon()

    def _start(self, lane: Lane) -> None:
        """Start as many of the lane's deliveries as may be in flight."""
        others_first = False
        while lane.queue and (permit := self.admission.admit(lane, others_first)) is not None:
            others_first = True
            if self.admission.semaphore.in_flight == 1:
                self._reset_watchdog()
            self._launch((lane, self._next(lane), permit))
            if lane.batch is not None:
                # The batch takes more deliveries of the lane, and then starts the rest itself.
                break
        self.lanes.update_full(lane)

    def _next(self, lane: Lane) -> QueuedDelivery:
        self.admission.count_start()
        return self.leased.pop(lane)

    def _launch(self, run: Run) -> None:
        """Start a run, in the task whose run is ending if there is one."""
        if self._handing_over and self._handed is None:
            self._handed = run
        else:
            self._tasks.start(self._run(run))

    async def _run(self, run: Run) -> None:
        """Make this run, and then one after another for as long as the end of one starts another.

        A task for each run would cost more than all limits together.
        """
        following: Run | None = run
        while following is not None:
            lane, item, permit = following
            try:
                await self._send_queue(lane, item, permit)
            except BaseException:
                self._end(lane, permit)
                raise
            following = self._hand_over(lane, permit)

    async def _send_queue(self, lane: Lane, item: QueuedDelivery, permit: Permit) -> None:
        """Send this delivery and more of the lane's queue, for as long as the lane keeps the
        permit.
        """
        may_reach = partial(self.admission.may_reach, lane, permit)
        while await self._deliver(lane, item, permit, may_reach):
            self._refill(lane)
            if not lane.queue or self.admission.should_yield(lane, permit):
                break
            item = self._next(lane)
            # A lane that waits for a permit is started when it is its turn.
            if lane.can_start() and not lane.waiting:
                self._start(lane)

    def _refill(self, lane: Lane) -> None:
        """Claim more before the queue is empty."""
        if len(lane.queue) <= self._tuning.max_queue // 2:
            self.lanes.update_full(lane)
            if lane.backlog:
                self.claimer.claim_soon()

    def _hand_over(self, lane: Lane, permit: Permit) -> Run | None:
        """End a run. Return the first run that starts instead, or None."""
        self._handing_over = True
        try:
            self._end(lane, permit)
        finally:
            self._handing_over = False
        run, self._handed = self._handed, None
        return run

    def _end(self, lane: Lane, permit: Permit) -> None:
        self.admission.release(lane, permit)
        if not self.admission.semaphore.in_flight:
            self._reset_watchdog()
        if not self.leased.closed:
            self.admission.wake()
            # If the lane waits for a permit, there is none for it now.
            if not lane.waiting:
                self._start(lane)

    # Sending a delivery.

    async def _deliver(
        self, lane: Lane, item: QueuedDelivery, permit: Permit, may_reach: Callable[[str], bool]
    ) -> bool:
        """Make one attempt. Return False if the delivery has to wait after all."""
        lease_id = self.leased.lease
        assert lease_id is not None, "nothing is in memory without a lease"
        LOG_CONTEXT.set({"delivery_id": item.delivery_id, "hook_id": lane.hook_id})
        target: Target | None = None
        results: Sequence[Result] | None = None
        outcome: Outcome | None = None
        try:
            target = self.targets.known(lane, item) or await self._load_target(lane, item)
            if target is not None and target.is_suspended(self._store.clock):
                raise Withheld
            if not self.admission.assign_host(lane, permit):
                raise Withheld
            checks = SendChecks(lease_id, partial(self.leased.holds, lease_id), may_reach)
            if target is not None and target.policy.batch is not None:
                results = await self._batches.attempt(
                    target, target.policy.batch, lane, item, checks
                )
            else:
                outcome = await self._sender.attempt(target, item, lane, checks)
        except Shortage as shortage:
            # The receiver has no part in this, so its hook gets no failure. The name is another
            # than below, because mypyc lets a name have only one type.
            self._outcomes.pause(lane, self._loop.time(), shortage, shortage.lacking)
        except Withheld:
            pass
        except Exception as error:
            if self._outcomes.fail(lane, item, target, lease_id, error):
                return True
            self._outcomes.pause(lane, self._loop.time(), error)
        else:
            self._outcomes.pauses = 0
            if results is None:
                self._outcomes.finish(lane, item, outcome)
            else:
                self._outcomes.finish_batch(lane, results)
            return True
        self.leased.requeue(lane, item, lease_id)
        self._outcomes.postpone(lane, self._loop.time())
        return False

    async def _load_target(self, lane: Lane, item: QueuedDelivery) -> Target | None:
        known = lane.target is not None
        try:
            target = await self.targets.load(lane, item)
        finally:
            if lane.cooldown_until:
                # The read may have restored a rest, which a timer has to end, whatever else holds
                # the hook back.
                left = lane.cooldown_until - self._loop.time()
                self.admission.wake_after(lane, max(left, 0.0))
        if lane.rests(self._loop.time()):
            # The circuit breaker was open before a restart, or has opened during the read.
            raise Withheld
        # The read may have included a handshake, which may take as long as the attempt.
        self._reset_watchdog()
        if not known:
            # The request started before the hook's rate and concurrency were known.
            lane.count_request(self._loop.time())
            if lane.batch is None:
                self._start(lane)
        return target

    def _on_recorded(self, outcomes: Sequence[Outcome], disabled: set[int]) -> None:
        self._outcomes.on_recorded(outcomes, disabled)

    def _reset_watchdog(self) -> None:
        if self.in_flight:
            self.watchdog.arm("attempts", self._tuning.max_attempt)
        else:
            self.watchdog.disarm("attempts")

    # The interface for the worker.

    @property
    def in_flight(self) -> int:
        return self.admission.semaphore.in_flight

    @property
    def queued(self) -> int:
        """Return how many deliveries wait in memory."""
        return self.leased.queued

    def change(self, settings: WorkerSettings) -> None:
        """Apply these settings from the next attempt of each hook on."""
        self.targets.change(settings, self.lanes)
        self.admission.change(settings)

    def close(self) -> None:
        """Start nothing more."""
        self.leased.closed = self.admission.closed = True

    async def stop(self, seconds: float) -> None:
        """Start nothing more, wait up to `seconds` for requests in flight, and record their
        outcomes.
        """
        self.close()
        ends = self._loop.time() + seconds
        await self.claimer.close()
        await self._tasks.stop(seconds)
        await self._recorder.drain(max(ends - self._loop.time(), self._tuning.final_flush))

    def abort(self) -> None:
        """Stop at once.

        Nothing more is recorded or returned to the store. The lease expires by itself.
        """
        self.close()
        self.claimer.stop()
        self._tasks.cancel()
