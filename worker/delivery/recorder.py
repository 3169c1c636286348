"""The recorder: it writes outcomes to the store in groups, and keeps them during an outage."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

from store import Connection, Store
from store.database.backoff import backoff_delay
from store.delivery.outcomes import attempt_outcomes
from store.delivery.outcomes.outcome import Outcome
from store.errors import Busy, Damaged, Unavailable
from store.monitoring import hook_tallies
from worker.background_tasks import BackgroundTasks
from worker.delivery.metrics import stage_of
from worker.delivery.spans import DeliverySpans
from worker.delivery.watchdog import Watchdog
from worker.tuning import DEFAULTS, Tuning

log = logging.getLogger("tocsin.worker")

TALLY_INTERVAL = 2.0
MAX_BATCH = 500

Record = Callable[[Connection, Sequence[Outcome]], set[int]]


class Recorder:
    """The recorder of outcomes, which collects them into groups.

    A group is written as soon as the one before it is committed. So an outcome waits for nothing
    but the writer, and the more there is to record, the larger are the groups. When a group is
    committed, `on_recorded` is called with it and with the hooks that it disabled. With `spans`,
    the recording of a group is a span.
    """

    def __init__(
        self,
        store: Store,
        on_recorded: Callable[[Sequence[Outcome], set[int]], None],
        watchdog: Watchdog | None = None,
        tuning: Tuning = DEFAULTS,
        spans: DeliverySpans | None = None,
    ) -> None:
        self._store = store
        self._spans = spans
        self._watchdog = watchdog or Watchdog()
        self._tuning = tuning
        self._on_recorded = on_recorded
        self._waiting: list[Outcome] = []
        self._next_flush: asyncio.Handle | None = None
        self._writing = 0
        self._writes = BackgroundTasks()
        self._unrecorded = 0
        self._blocked = False
        self._tallies: hook_tallies.Counts = {}
        self._tally_timer: asyncio.TimerHandle | None = None

    @property
    def full(self) -> bool:
        """Return whether sending must pause, because outcomes cannot be recorded or too many
        wait.
        """
        return self._blocked or self._unrecorded >= self._tuning.max_unrecorded

    def add(self, outcome: Outcome) -> None:
        """Record an outcome soon."""
        self.add_all((outcome,))

    def add_all(self, outcomes: Sequence[Outcome]) -> None:
        """Record outcomes soon, in one transaction."""
        self._waiting += outcomes
        self._unrecorded += len(outcomes)
        if len(self._waiting) >= MAX_BATCH:
            self._flush()
        elif not self._writing:
            self._flush_soon()

    def _flush_soon(self) -> None:
        """Flush in the next pass of the event loop, with the outcomes of this pass."""
        if self._next_flush is None:
            self._next_flush = asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        if self._next_flush is not None:
            self._next_flush.cancel()
            self._next_flush = None
        if not self._waiting:
            return
        outcomes, self._waiting = self._waiting, []
        self._writing += 1
        self._writes.start(self._write(outcomes))

    async def _write(self, outcomes: list[Outcome]) -> None:
        many, started_at = len(outcomes), self._store.clock.now()
        try:
            outcomes, disabled = await self._recorded(outcomes)
        finally:
            self._writing -= 1
        if self._waiting:
            self._flush_soon()
        self._blocked = False
        self._unrecorded -= many
        if self._spans is not None:
            self._spans.recorded(outcomes, started_at, self._store.clock.now())
        log_dead(outcomes)
        self._tally(outcomes)
        self._on_recorded(outcomes, disabled)

    async def _recorded(self, outcomes: list[Outcome]) -> tuple[list[Outcome], set[int]]:
        """Record a group. Return the outcomes that are recorded, and the hooks that they disabled.

        If a programming error prevents that, record them one by one, so that an outcome that cannot
        be recorded costs only itself. Its delivery stays leased: if it was sent again, recording
        its outcome would fail again.
        """
        record, again = attempt_outcomes.record, attempt_outcomes.record_again
        try:
            return outcomes, await self._record(outcomes, record, again)
        except Exception as error:
            if len(outcomes) == 1:
                return await self._recorded_state(outcomes, error), set()
            log.exception("%d outcomes could not be recorded together", len(outcomes))
        # Followers of an ordered delivery come after it in a group. They are recorded before it, so
        # that nobody gets their turn meanwhile.
        each = [await self._recorded([outcome]) for outcome in reversed(outcomes)]
        disabled = set().union(*(hooks for _, hooks in each))
        return [outcome for one, _ in each for outcome in one], disabled

    async def _recorded_state(self, outcomes: list[Outcome], error: Exception) -> list[Outcome]:
        """Record only the delivery's state if the damage of a file prevents more. Return the
        outcome if that is recorded.

        Without it, every restart would send the delivery again.
        """
        delivery_id = outcomes[0].delivery_id
        record = attempt_outcomes.record_states
        if isinstance(error, Damaged):
            with contextlib.suppress(Damaged):
                await self._record(outcomes, record, record)
                log.error("the attempt of delivery %d is not recorded: %s", delivery_id, error)
                return outcomes
        log.error(
            "the outcome of delivery %d is not recorded; a restart of the worker sends it again",
            delivery_id,
            exc_info=error,
        )
        return []

    def _tally(self, outcomes: Sequence[Outcome]) -> None:
        attempt_outcomes.tally(self._tallies, outcomes)
        if self._tally_timer is None:
            loop = asyncio.get_running_loop()
            self._tally_timer = loop.call_later(TALLY_INTERVAL, self._flush_tallies)

    def _flush_tallies(self) -> None:
        if self._tally_timer is not None:
            self._tally_timer.cancel()
            self._tally_timer = None
        if self._tallies:
            counts, self._tallies = self._tallies, {}
            self._writes.start(self._write_tallies(counts))

    async def _write_tallies(self, counts: hook_tallies.Counts) -> None:
        try:
            await self._store.write_relaxed(hook_tallies.write, counts)
        except (Busy, Unavailable) as error:
            # The attempts are recorded. Only the charts of the dashboard lack the lost counts.
            log.warning("the counts of %d attempts are lost: %s", _sum(counts), error)

    async def _record(self, outcomes: list[Outcome], record: Record, again: Record) -> set[int]:
        """Try until the group is recorded. Without its outcome, a delivery would be sent again.

        `again` records it if the result of the first try may be unknown.
        """
        pauses, tries = self._tuning.record_pauses, 0
        while True:
            try:
                with self._watchdog.watch("recording"):
                    return await self._store.write_relaxed(record, outcomes)
            except (Busy, Unavailable) as error:
                if not self._blocked:
                    log.error("outcomes cannot be recorded, deliveries pause: %s", error)
                self._blocked = True
                record = again
                longest = pauses[min(tries, len(pauses) - 1)]
                await asyncio.sleep(backoff_delay(1, first=longest))
                tries += 1

    async def drain(self, seconds: float) -> None:
        """Wait up to `seconds` until everything is recorded.

        Deliveries without a recorded outcome are sent again.
        """
        ends_at = asyncio.get_running_loop().time() + seconds
        # The last groups are counted when they have been recorded.
        for flush in (self._flush, self._flush_tallies):
            flush()
            await self._writes.stop(ends_at - asyncio.get_running_loop().time())


def _sum(counts: hook_tallies.Counts) -> int:
    return sum(map(sum, counts.values()))


def log_dead(outcomes: Sequence[Outcome]) -> None:
    """Log deliveries that have no attempt left, in one line per hook.

    The line has only the status or the stage of the error, because the rest came from outside.
    """
    dead: dict[int, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.died:
            dead.setdefault(outcome.hook_id, []).append(outcome)
    for hook_id, group in dead.items():
        _log_hook(hook_id, len(group), group[-1])


def _log_hook(hook_id: int, many: int, last: Outcome) -> None:
    why = stage_of(last.error) if last.error is not None else f"status {last.status_code}"
    about = {"hook_id": hook_id, "delivery_id": last.delivery_id, "event_id": last.event_id}
    log.warning(
        "hook %d: %d deliveries are dead; the last ended with attempt %d: %s",
        hook_id,
        many,
        last.number,
        why,
        extra={"about": about},
    )
