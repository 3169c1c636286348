"""The answers to fetched deliveries, and the outcomes that follow from them."""

from store import Connection, Row
from store.clock import SECOND
from store.database.notifications import Turn
from store.delivery.outcomes.outcome import Outcome
from store.ordering.delivery_states import DEAD, WAITING
from store.pull.fetching import Acknowledgement, Rejection
from worker.delivery.answer_outcome import outcome_of
from worker.delivery.target import Target
from worker.http.answer import MAX_BODY, ExchangeResult
from worker.pull.leased_requests import queued


def answered(answer: Acknowledgement, held: int) -> ExchangeResult:
    """Return an answer like one that came over a connection.

    `held` is how long the consumer has had the delivery, in microseconds.
    """
    result = ExchangeResult()
    result.status = answer.status
    lines = (f"{_line(name)}: {_line(value)}" for name, value in answer.headers)
    result.head = "\r\n".join(lines).encode()
    result.body = answer.body[:MAX_BODY]
    result.truncated = len(answer.body) > MAX_BODY
    result.timings = {"total": max(held if answer.duration is None else answer.duration, 0)}
    return result


def _line(text: str) -> str:
    """Return a text without line breaks, so that it cannot add a header."""
    return text.replace("\r", " ").replace("\n", " ")


def outcome(
    db: Connection,
    hook_id: int,
    target: Target,
    row: Row,
    turns: dict[int, Turn],
    result: ExchangeResult,
) -> Outcome:
    """Return the outcome of a leased delivery with this answer. `row` is a row of `leased`."""
    item = queued(row, target, turns)
    found = outcome_of(
        target, item, hook_id, -row["id"], result, row["request_head"], row["started_at"], db.now
    )
    found.repo_id = row["repo_id"]
    if target.signatures.overlap is not None:
        found.taken = target.signatures.overlap.learn_if_fetched(
            item.attempts, result.status, row["started_at"]
        )
    # The receiver says how long it took.
    found.recorded_at = db.now
    if not item.redelivery:
        found.accepted_at = row["received_at"]
    return found


def steer(outcome: Outcome, rejection: Rejection, now: int) -> None:
    """Apply what the receiver wishes for a delivery that it rejects. `now` is in microseconds."""
    if rejection.dead:
        outcome.state, outcome.due_at = DEAD, now
        outcome.instruction = "dead"
    elif rejection.delay is not None and outcome.state == WAITING:
        outcome.due_at = now + round(rejection.delay * SECOND)
        outcome.instruction = f"delay={rejection.delay:g}"
