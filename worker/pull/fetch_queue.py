"""The queue of a pull hook: its consumers fetch deliveries under leases, and answer them.

Every method runs in a transaction of its caller.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from store import Connection, Row
from store.clock import SECOND
from store.delivery import deliveries, event_fields
from store.delivery.outcomes import attempt_outcomes
from store.delivery.outcomes.outcome import Outcome
from store.errors import Conflict
from store.formats.formats import PLATFORM
from store.hooks import hook_ordering
from store.monitoring import hook_tallies
from store.ordering.delivery_states import WAITING
from store.pull import consumers, pull_leases
from store.pull.fetching import Acknowledgement, Fetch, FetchedDelivery, Rejection
from store.pull.pull_leases import ENDING, Result
from store.tracing import Tracer
from worker.delivery.lane import QueuedDelivery
from worker.delivery.payload import Payload
from worker.delivery.send import undeliverable_reason
from worker.delivery.spans import DeliverySpans
from worker.delivery.target import Target
from worker.delivery.target_loader import load_fetched_target
from worker.http.answer import ExchangeResult
from worker.pull import answers, lease_limits, leased_requests
from worker.pull.recent_payloads import RecentPayloads
from worker.settings import WorkerSettings

# One transaction ends up to this many expired leases of a hook.
LAPSES = 250
LAPSED = "lease: it expired before an answer"

ResultOf = Callable[[Row], ExchangeResult]
"""Returns the answer to a leased delivery."""


class FetchQueue:
    """The deliveries of pull hooks, for their consumers. With a tracer, attempts are spans."""

    def __init__(self, settings: WorkerSettings, tracer: Tracer | None = None) -> None:
        self.settings = settings
        self._payloads = RecentPayloads()
        self._spans = None if tracer is None else DeliverySpans(tracer)

    def fetch(self, db: Connection, hook: Row, request: Fetch) -> list[FetchedDelivery]:
        """Lease due deliveries to a consumer. Expired leases of the hook end first.

        Deliveries that cannot be attempted any more are marked as dead. Raises Conflict if the
        hook cannot sign.
        """
        # No two hubs fetch for one hook at a time, so that its limits hold.
        db.alone(f"pull {hook['id']}")
        consumers.touch(db, hook["id"], request.consumer)
        self.lapse(db, hook["id"])
        target = self._signing_target(db, hook["id"])
        if target.held_until > db.now:
            return []
        room = min(request.batch, lease_limits.room(db, hook))
        due = pull_leases.due(db, hook["id"], room) if room else []
        if not due:
            return []
        sendable = self._sendable(db, target, due)
        return leased_requests.lease(db, hook["id"], target, sendable, request)

    def next_at(self, db: Connection, hook: Row) -> int | None:
        """Return when `fetch` may find deliveries. None if only a change can lead to that."""
        return lease_limits.next_at(db, hook)

    def _signing_target(self, db: Connection, hook_id: int) -> Target:
        target = load_fetched_target(db, hook_id, self.settings)
        assert target is not None, "the request has found it"
        if target.refusal:
            raise Conflict(f"hook {hook_id} cannot sign its deliveries: {target.refusal}")
        return target

    def _sendable(
        self, db: Connection, target: Target, due: Sequence[Row]
    ) -> list[tuple[QueuedDelivery, Payload]]:
        """Return the deliveries that can be attempted. Mark the others as dead."""
        payloads = self._payloads.get(db, [row["event_id"] for row in due])
        turns = leased_requests.turns_of(db, due)
        found: list[tuple[QueuedDelivery, Payload]] = []
        dead: dict[str, list[int]] = {}
        for row in due:
            if row["event_id"] not in payloads:
                continue  # beyond the size limit of one read: the next request gets it
            item = leased_requests.queued(row, target, turns)
            payload = payloads[row["event_id"]]
            if payload is not None and payload.repository is None and target.format != PLATFORM:
                payload.repository = event_fields.own_repository(db, payload.repo_id, payload.body)
            reason = undeliverable_reason(target, payload, item, db.now)
            if reason is not None or payload is None:
                dead.setdefault(reason or "", []).append(row["id"])
            else:
                found.append((item, payload))
        for reason, delivery_ids in dead.items():
            pull_leases.withdraw(db, delivery_ids)
            deliveries.mark_dead(db, ENDING, delivery_ids, reason)
        return found

    def acknowledge(self, db: Connection, hook: Row, replies: Sequence[Acknowledgement]) -> None:
        """Record the receiver's answers as attempts.

        An answer that is recorded already is ignored. Raises StaleLeases, and records nothing, if
        a lease has ended in another way.
        """
        given = {one.lease_id: one for one in replies}

        def result_of(row: Row) -> ExchangeResult:
            return answers.answered(given[row["id"]], db.now - row["started_at"])

        open_ids = pull_leases.open_ones(db, hook["id"], given, "acked")
        self._record(db, hook["id"], self._outcomes(db, hook["id"], open_ids, result_of))
        self._end(db, hook, open_ids, "acked")

    def reject(self, db: Connection, hook: Row, rejections: Sequence[Rejection]) -> None:
        """Record that deliveries were not answered, as failed attempts.

        Repetitions and stale leases are treated as in `acknowledge`.
        """
        given = {one.lease_id: one for one in rejections}

        def result_of(row: Row) -> ExchangeResult:
            return ExchangeResult.failed(f"receiver: {given[row['id']].reason}")

        open_ids = pull_leases.open_ones(db, hook["id"], given, "nacked")
        outcomes = self._outcomes(db, hook["id"], open_ids, result_of)
        for outcome in outcomes:
            answers.steer(outcome, given[-outcome.lease_id], db.now)
        self._record(db, hook["id"], outcomes)
        self._end(db, hook, open_ids, "nacked")

    def _end(self, db: Connection, hook: Row, lease_ids: Sequence[int], result: Result) -> None:
        pull_leases.end(db, lease_ids, result)
        if lease_limits.was_full(db, hook, len(lease_ids)):
            notifier = db.notifier
            # Requests wait for room, and not only for deliveries.
            db.after_commit(lambda: notifier.pulled([hook["id"]]))

    def extend(self, db: Connection, hook: Row, lease_ids: Collection[int], seconds: float) -> int:
        """Let leases expire `seconds` seconds from now. Return that time (microseconds).

        Raises StaleLeases, and extends none, if one has ended.
        """
        open_ids = pull_leases.open_ones(db, hook["id"], lease_ids)
        expires_at = db.now + round(seconds * SECOND)
        pull_leases.extend(db, open_ids, expires_at)
        return expires_at

    def touch(self, db: Connection, hook: Row, lease_ids: Iterable[int]) -> None:
        """Record that the consumers with these leases have asked for something now."""
        for name in sorted(
            {row["consumer"] for row in pull_leases.lock(db, hook["id"], lease_ids)}
        ):
            consumers.touch(db, hook["id"], name)

    def lapse(self, db: Connection, hook_id: int) -> int:
        """End expired leases of a hook, and record that as failed attempts. Return their number."""
        lease_ids = pull_leases.expired(db, hook_id, LAPSES)
        if lease_ids:
            outcomes = self._outcomes(
                db, hook_id, lease_ids, lambda _: ExchangeResult.failed(LAPSED)
            )
            self._record(db, hook_id, outcomes)
            pull_leases.end(db, lease_ids, "lapsed")
        return len(lease_ids)

    def _outcomes(
        self,
        db: Connection,
        hook_id: int,
        lease_ids: Sequence[int],
        result_of: ResultOf,
    ) -> list[Outcome]:
        """Return the outcomes of leased deliveries. Without the hook, they are dead."""
        if not lease_ids:
            return []
        # Every transaction that changes the order locks it first, so that no two deadlock.
        hook_ordering.lock(db, [hook_id])
        rows = pull_leases.leased(db, lease_ids)
        target = load_fetched_target(db, hook_id, self.settings)
        if target is None or target.deleted:
            for row in rows:
                reason = "the hook is gone" if target is None else "the hook was deleted"
                deliveries.mark_dead(db, -row["id"], [row["delivery_id"]], reason)
            return []
        turns = leased_requests.turns_of(db, rows)
        return [answers.outcome(db, hook_id, target, row, turns, result_of(row)) for row in rows]

    def _record(self, db: Connection, hook_id: int, outcomes: Sequence[Outcome]) -> None:
        if not outcomes:
            return
        attempt_outcomes.record(db, outcomes)
        counts: hook_tallies.Counts = {}
        attempt_outcomes.tally(counts, outcomes)
        hook_tallies.write(db, counts)
        if any(outcome.state == WAITING for outcome in outcomes):
            notifier = db.notifier
            db.after_commit(lambda: notifier.due([hook_id]))
        if self._spans is not None:
            self._trace(db, self._spans, outcomes)

    def _trace(self, db: Connection, spans: DeliverySpans, outcomes: Sequence[Outcome]) -> None:
        payloads = self._payloads.get(db, [outcome.event_id for outcome in outcomes])
        for outcome in outcomes:
            payload = payloads.get(outcome.event_id)
            if payload is not None:
                db.after_commit(partial(spans.fetched, payload, outcome))
