"""The outcome of an attempt: the decision that follows from the answer, and the record."""

import random
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import orjson

from store.clock import SECOND
from store.delivery.outcomes.outcome import Outcome
from store.ordering.delivery_states import DEAD, DELIVERED, WAITING
from worker.delivery.lane import QueuedDelivery
from worker.delivery.payload import Payload
from worker.delivery.policy import Policy
from worker.delivery.target import Target
from worker.http.answer import ExchangeResult, internal_error

# By this header of its answer, a receiver stops a delivery or disables the hook.
STEERING = "webhook-delivery"
GONE = 410
THROTTLED = 429
# In seconds: the delay after a 429 beyond the schedule's end, if the schedule's last delay is 0.
THROTTLED_DELAY = 60.0
# Seconds. Attempts that were answered 429 may exceed the schedule, and its last delay may be tiny.
LEAST_DELAY = 1.0
# A delivery is dead after so many attempts, whatever was answered.
MOST_ATTEMPTS = 10_000
DISABLE, ABORT = "disable", "abort-message"


class Reply(NamedTuple):
    """The parts of an answer that decide the outcome. `status` is None without an answer.

    `retry_after` and `directive` are the values of the headers Retry-After and webhook-delivery.
    """

    status: int | None = None
    error: str | None = None
    retry_after: str | None = None
    directive: str | None = None

    @property
    def succeeded(self) -> bool:
        """Return whether the receiver took the delivery."""
        return self.error is None and self.status is not None and 200 <= self.status < 300

    @property
    def asked(self) -> str:
        """Return DISABLE, ABORT, or "" if the receiver asked for neither."""
        text = (self.directive or "").strip().lower()
        return text if text in (DISABLE, ABORT) else ""


class Decision(NamedTuple):
    """The next state of a delivery, and the time (microseconds) at which it is due or ended.

    `disable` is the reason to disable the hook, or None. Until `held_until` (microseconds) the hook
    gets nothing more. `throttled` says that the attempt uses up no retry. `instruction` is what the
    receiver asked for.
    """

    state: int
    due_at: int
    disable: str | None = None
    held_until: int | None = None
    throttled: bool = False
    instruction: str | None = None


def outcome_of(
    target: Target,
    item: QueuedDelivery,
    hook_id: int,
    lease_id: int,
    answer: ExchangeResult,
    head: str,
    started: int,
    ended: int,
) -> Outcome:
    """Return the outcome of an attempt with this answer. Both times are in microseconds."""
    number = item.attempts + 1
    received = None if answer.status is None else target.readable_head(answer.head)
    since = _since(item, started)
    decision = decide(target.policy, number, _reply(answer), ended, item.throttled, since)
    return Outcome(
        lease_id=lease_id,
        delivery_id=item.delivery_id,
        hook_id=hook_id,
        event_id=item.event_id,
        repo_id=target.repo_id or 0,
        number=number,
        redelivery=int(item.redelivery or number > 1),
        started_at=started,
        duration=answer.timings.get("total", max(ended - started, 0)),
        status_code=answer.status,
        error=answer.error,
        url=target.url,
        address=answer.address,
        timings=orjson.dumps(answer.timings).decode(),
        request_head=head,
        response_head=received,
        response_body=None if answer.status is None else target.readable_body(answer),
        state=decision.state,
        due_at=decision.due_at,
        disable=decision.disable,
        held_until=decision.held_until,
        throttled=decision.throttled,
        instruction=decision.instruction,
        disable_after=round(target.policy.disable_after * SECOND),
        turn=item.turn,
        version=target.version,
    )


def failed_attempt(
    target: Target,
    item: QueuedDelivery,
    hook_id: int,
    lease_id: int,
    error: Exception,
    now: int,
) -> Outcome:
    """Return the outcome of an attempt that a programming error ended. `now` is in microseconds."""
    answer = ExchangeResult.failed(internal_error(error))
    return outcome_of(target, item, hook_id, lease_id, answer, "", now, now)


def with_event(outcome: Outcome, target: Target, payload: Payload, item: QueuedDelivery) -> Outcome:
    """Copy the event's repository, installation and time of acceptance. Return the outcome."""
    if target.repo_id is None:
        outcome.repo_id = payload.repo_id
    outcome.installation_id = payload.installation_id
    if not item.redelivery:
        outcome.accepted_at = payload.accepted_at
    return outcome


def _since(item: QueuedDelivery, started: int) -> int | None:
    """Return when the first attempt began (microseconds) if other deliveries wait for this one.

    Return None if no delivery can wait for it.
    """
    if item.turn is None or item.turn.out_of_turn:
        return None
    return started if item.turn.since is None else item.turn.since


def _reply(answer: ExchangeResult) -> Reply:
    if answer.status is None:
        return Reply(None, answer.error)
    # Not the readable head: a short secret may stand in a value, and is masked there.
    head = answer.head.decode("latin-1")
    return Reply(
        answer.status,
        answer.error,
        None if answer.succeeded else header_value(head, "retry-after"),
        # Most answers lack this header. One search in the whole head is cheaper than line by line.
        header_value(head, STEERING) if STEERING in head.lower() else None,
    )


def header_value(head: str, name: str) -> str | None:
    """Return the first value of a header in a block of header lines."""
    for line in head.split("\r\n"):
        key, colon, value = line.partition(":")
        if colon and key.lower() == name:
            return value.strip()
    return None


def decide(
    policy: Policy,
    number: int,
    reply: Reply,
    now: int,
    throttled: int = 0,
    since: int | None = None,
) -> Decision:
    """Return the decision after attempt `number` (1 for the first), which ended at `now`.

    `throttled` is how many earlier attempts of the delivery were answered 429. `since` is when the
    first attempt began, if other deliveries wait for this one. Both times are in microseconds.
    """
    disable = _disable_reason(reply)
    if reply.succeeded:
        return Decision(DELIVERED, now, disable, instruction=DISABLE if disable else None)
    if disable is not None or reply.asked == ABORT:
        return Decision(DEAD, now, disable, instruction=reply.asked or None)
    pause = 0.0
    if reply.retry_after is not None:
        pause = parse_retry_after(reply.retry_after, now, policy.max_retry_after)
    limited = reply.status == THROTTLED
    delay = _delay(policy, number, number - throttled - limited)
    due_at = None if delay is None else now + round(max(delay, pause) * SECOND)
    if since is not None and policy.max_block is not None and due_at is not None:
        due_at = _within(due_at, now, since + round(policy.max_block * SECOND))
    return Decision(
        DEAD if due_at is None else WAITING,
        now if due_at is None else due_at,
        held_until=now + round(pause * SECOND) if pause else None,
        throttled=limited,
        instruction=_wish(pause, limited),
    )


def _disable_reason(reply: Reply) -> str | None:
    if reply.status == GONE:
        return "the receiver answered 410 Gone"
    if reply.asked == DISABLE:
        return f"the receiver answered webhook-delivery: {DISABLE}"
    return None


def _delay(policy: Policy, number: int, spent: int) -> float | None:
    """Return the seconds until the next attempt. Return None if `spent` has no retry left, or
    after MOST_ATTEMPTS.
    """
    if spent >= len(policy.retries) or number >= MOST_ATTEMPTS:
        return None
    if number < len(policy.retries):
        nominal = policy.retries[number]
    else:
        # Attempts that were answered 429 use up no retry, so they may exceed the schedule.
        nominal = max(policy.retries[-1] or THROTTLED_DELAY, LEAST_DELAY)
    return nominal * random.uniform(1 - policy.jitter, 1 + policy.jitter)  # noqa: S311 - spreads load, keeps no secret


def _within(due_at: int, now: int, limit: int) -> int | None:
    """Return `due_at`, or `limit` if that is earlier. Return None if `limit` has passed."""
    return min(due_at, limit) if now < limit else None


def _wish(pause: float, limited: bool) -> str | None:
    if pause:
        return f"retry-after={pause:.0f}"
    return "throttle" if limited else None


def parse_retry_after(header: str, now: int, longest: float = 24 * 3600) -> float:
    """Return the seconds that a Retry-After asks for, at most `longest` seconds.

    Return 0 if it is invalid. `now` is in microseconds.
    """
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), longest)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(moment.timestamp() - now / SECOND, 0.0), longest)
