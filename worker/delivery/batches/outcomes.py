"""The outcomes of a batch: one for each delivery, by one answer."""

from collections.abc import Sequence
from copy import copy

from store.delivery.outcomes.outcome import Outcome
from store.formats import batches
from store.formats.batches import UnreadableAnswer
from store.ordering.delivery_states import BEHIND, DELIVERED, WAITING
from worker.delivery.answer_outcome import outcome_of, with_event
from worker.delivery.batches.request import Member
from worker.delivery.target import Target
from worker.http.answer import ExchangeResult

TOO_LARGE = 413
SMALLER = "smaller-batch"
"""The instruction on record if the receiver answered that a batch is too large."""
NAMED = "batch: the receiver named this event as failed"


def is_too_large(members: Sequence[Member], answer: ExchangeResult) -> bool:
    """Return whether the receiver refused the batch as too large, and it can be made smaller."""
    return answer.status == TOO_LARGE and len(members) > 1


def outcomes_of(
    target: Target,
    members: Sequence[Member],
    hook_id: int,
    lease_id: int,
    answer: ExchangeResult,
    head: str,
    started: int,
    ended: int,
) -> list[Outcome]:
    """Return the outcome of each delivery, in their sequence. Both times are in microseconds."""
    answers = _answers(members, answer)
    found: list[Outcome] = []
    # Deliveries with equal counts of attempts get the same time, so they are retried together.
    due: dict[tuple[int, int], int] = {}
    for member, own in zip(members, answers, strict=True):
        item = member.item
        outcome = outcome_of(target, item, hook_id, lease_id, own, head, started, ended)
        if is_too_large(members, own):
            # The size of the batch is no fault of the event, so this uses up no retry.
            outcome.state, outcome.due_at = WAITING, ended
            outcome.throttled, outcome.instruction = True, SMALLER
        elif outcome.state == WAITING:
            key = item.attempts, item.throttled
            outcome.due_at = due.setdefault(key, outcome.due_at)
        if found and item.turn is not None and outcome.state == WAITING:
            # A follower that is to be retried waits for its turn again.
            outcome.state = BEHIND
        found.append(with_event(outcome, target, member.payload, item))
    return found


def decisive_of(outcomes: Sequence[Outcome]) -> Outcome | None:
    """Return the outcome by which the limits of the hook change. Return None if nothing was sent.

    If the receiver accepted one delivery, the batch counts as a success.
    """
    found = next((one for one in outcomes if one.state == DELIVERED), None)
    if found is None:
        return outcomes[0] if outcomes else None
    held = [one.held_until for one in outcomes if one.held_until is not None]
    found.held_until = max(held, default=None)
    return found


def _answers(members: Sequence[Member], answer: ExchangeResult) -> list[ExchangeResult]:
    """Return the answer for each delivery. It has an error where the receiver named the event."""
    if not answer.succeeded:
        return [answer] * len(members)
    guids = [member.payload.guid for member in members]
    try:
        failed = batches.failed_ids(answer.body, guids, truncated=answer.truncated)
    except UnreadableAnswer as error:
        return [_with_error(answer, f"batch: {error}")] * len(members)
    if not failed:
        return [answer] * len(members)
    named = _with_error(answer, NAMED)
    return [named if guid in failed else answer for guid in guids]


def _with_error(answer: ExchangeResult, error: str) -> ExchangeResult:
    changed = copy(answer)
    changed.error = error
    return changed
