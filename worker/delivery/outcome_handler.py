"""The handling of outcomes: each is recorded, and changes the limits of its lane.

If an attempt has no outcome, its lane waits.
"""

import logging
from collections.abc import Callable, Sequence

from store import Store
from store.clock import SECOND
from store.database.backoff import backoff_delay
from store.delivery.outcomes.outcome import Outcome
from store.errors import Busy, Unavailable
from store.ordering.delivery_states import DELIVERED, WAITING
from worker.delivery.admission import Admission
from worker.delivery.answer_outcome import failed_attempt
from worker.delivery.batches.outcomes import decisive_of
from worker.delivery.batches.sender import Result
from worker.delivery.claimer import Claimer
from worker.delivery.lane import Lane, QueuedDelivery
from worker.delivery.lane_table import LaneTable
from worker.delivery.leased import LeasedDeliveries
from worker.delivery.metrics import WorkerMetrics
from worker.delivery.recorder import Recorder
from worker.delivery.target import Target
from worker.tuning import Tuning

log = logging.getLogger("tocsin.worker")


class OutcomeHandler:
    """The handler of outcomes. `progressed` is called when a delivery has come to its end."""

    def __init__(
        self,
        store: Store,
        recorder: Recorder,
        lanes: LaneTable,
        leased: LeasedDeliveries,
        claimer: Claimer,
        admission: Admission,
        metrics: WorkerMetrics,
        progressed: Callable[[], None],
        tuning: Tuning,
    ) -> None:
        self._clock = store.clock
        self._recorder = recorder
        self._lanes, self._leased = lanes, leased
        self._claimer, self._admission = claimer, admission
        self._metrics = metrics
        self._progressed = progressed
        self._retry_delay = tuning.store_retry_delay
        self.pauses = 0
        """The pauses since an attempt had an outcome."""

    def finish(self, lane: Lane, item: QueuedDelivery, outcome: Outcome | None) -> None:
        """Record the outcome of a delivery. Without one, it was marked as dead and not sent."""
        if outcome is None:
            self._leased.finish([item.delivery_id])
            self._metrics.deliveries.add("dropped")
            self._progressed()
            return
        self._recorder.add(outcome)
        self._adjust(lane, item, outcome)

    def finish_batch(self, lane: Lane, results: Sequence[Result]) -> None:
        """Record the outcomes of one request. It counts once for the limits of the lane."""
        sent = [outcome for _, outcome in results if outcome is not None]
        decisive = decisive_of(sent)
        if decisive is not None:
            # Followers of an ordered delivery must not be recorded after it.
            self._recorder.add_all(sent)
        for item, outcome in results:
            if outcome is None:
                self.finish(lane, item, None)
            elif outcome is decisive:
                self._adjust(lane, item, outcome)

    def _adjust(self, lane: Lane, item: QueuedDelivery, outcome: Outcome) -> None:
        """Adjust the lane to an outcome that is about to be recorded."""
        target = lane.target
        if target is not None and not target.is_receiver(outcome.url, outcome.version):
            # Its receiver is no longer the hook's, and says nothing about the new one.
            return
        delivered = outcome.state == DELIVERED
        key = None if item.turn is None else item.turn.key
        if cooldown := self._admission.update_limits(lane, delivered=delivered, key=key):
            length = f"for {cooldown:.0f} s"
            why = f" after {lane.failures} failures in a row"
            _report(logging.WARNING, lane, "rests", length, why)
            # This precedes the recording, which never happens at once.
            outcome.cooldown_until = self._clock.now() + round(cooldown * SECOND)
            self._claimer.give_back(lane)
        if outcome.held_until is not None:
            self.suspend(lane, outcome.held_until)

    def fail(
        self,
        lane: Lane,
        item: QueuedDelivery,
        target: Target | None,
        lease_id: int,
        error: Exception,
    ) -> bool:
        """Record a programming error as an attempt, and return True.

        If there is no target or the store is unavailable, return False: the delivery has to wait.
        """
        unavailable = isinstance(error, (Busy, Unavailable))
        if not unavailable:
            log.error("delivery %d to hook %d", item.delivery_id, lane.hook_id, exc_info=error)
        if unavailable or target is None:
            return False
        # Without an outcome, the delivery would stay leased, and nothing would send it.
        now = self._clock.now()
        self.finish(lane, item, failed_attempt(target, item, lane.hook_id, lease_id, error, now))
        return True

    def pause(self, lane: Lane, now: float, error: Exception, lacking: str = "the store") -> None:
        """Pause the lane of a delivery that had no outcome, because something was lacking.

        `now` is the event loop's time.
        """
        if not self.pauses:
            log.error("hook %d waits for %s: %s", lane.hook_id, lacking, error)
        self.pauses += 1
        self._progressed()
        delay = self._retry_delay
        lane.pause(now + backoff_delay(self.pauses, first=delay, longest=4 * delay))

    def postpone(self, lane: Lane, now: float) -> None:
        """Return the deliveries of a hook to the store if nothing may be sent to it now.

        `now` is the event loop's time.
        """
        target = lane.target
        if target is not None and target.is_suspended(self._clock):
            self.suspend(lane, target.held_until)
        elif lane.rests(now):
            self._lanes.update_full(lane)
            self._claimer.give_back(lane)

    def suspend(self, lane: Lane, held_until: int) -> None:
        """Return the deliveries of a hook that is paused, or that gets nothing before a time
        (microseconds), because its receiver asked for that.
        """
        if held_until > (now := self._clock.now()):
            seconds = (held_until - now) / SECOND
            why = f"for {seconds:.0f} s: its receiver asked"
            _report(logging.INFO, lane, "is held back", "", why)
            lane.hold(held_until)
            self._lanes.update_full(lane)
        self._claimer.give_back(lane)
        if lane.held_until:
            self._claimer.retry_timer.schedule(lane, lane.held_until)

    def on_recorded(self, outcomes: Sequence[Outcome], disabled: set[int]) -> None:
        """Forget deliveries whose outcomes are recorded. Schedule their retries."""
        self._progressed()
        self._leased.finish(outcome.delivery_id for outcome in outcomes)
        self._metrics.recorded(outcomes, len(disabled))
        for outcome in outcomes:
            if outcome.state == WAITING:
                lane = self._lanes.get(outcome.hook_id)
                self._claimer.retry_timer.schedule(lane, outcome.due_at)
        for hook_id in disabled:
            log.warning("hook %d was disabled: see its reason", hook_id)
            self._lanes.get(hook_id).forget_target()
        self._admission.wake()


def _report(level: int, lane: Lane, kind: str, length: str, why: str) -> None:
    """Log a rest of a hook: at this level if it is of a new kind or length, else for debugging.

    A hook that stays dead rests again every few minutes, and thousands of hooks may be dead.
    """
    known = lane.reported.get(kind) == length
    lane.reported[kind] = length
    log.log(logging.DEBUG if known else level, "hook %d %s %s%s", lane.hook_id, kind, length, why)
