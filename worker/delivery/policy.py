"""The decision after an attempt: delivered, to be retried at a certain time, or dead."""

import random
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from store.clock import SECOND
from store.hooks.batch_options import BatchOptions
from store.hooks.hook_ordering import BLOCK, is_ordered
from store.ordering.delivery_states import DEAD, DELIVERED, WAITING
from worker.settings import WorkerSettings

GONE = 410
THROTTLED = 429
# In seconds: how long a throttled delivery without a delay of its own waits.
THROTTLED_DELAY = 60.0
# In seconds: how long an ordered delivery is retried while others wait for it.
MAX_BLOCK = 3600.0
DISABLE, ABORT = "disable", "abort-message"


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings for one hook, with its own options applied. Times are in seconds."""

    retries: tuple[float, ...]
    jitter: float
    timeout: float
    concurrency: int
    rate: float | None
    breaker: int
    disable_after: float
    max_retry_after: float = 24 * 3600
    max_block: float | None = None
    """How long an ordered delivery may be retried. None: as long as the retries say."""
    batch: BatchOptions | None = None
    """The limits of batches. None: deliveries go one by one."""


@dataclass(frozen=True, slots=True)
class Decision:
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


def policy_for(settings: WorkerSettings, options: dict[str, Any]) -> Policy:
    """Return the policy of a hook with these options
    (store.hooks.hook_options.DeliveryOptions).
    """

    def chosen(name: str) -> Any:
        value = options.get(name)
        return getattr(settings, name) if value is None else value

    return Policy(
        retries=tuple(chosen("retries")),
        jitter=settings.jitter,
        timeout=chosen("timeout"),
        concurrency=chosen("concurrency"),
        rate=chosen("rate"),
        breaker=chosen("breaker"),
        disable_after=chosen("disable_after"),
        max_retry_after=settings.max_retry_after,
        max_block=_max_block(options),
        batch=_batch(options),
    )


def _batch(options: dict[str, Any]) -> BatchOptions | None:
    given = options.get("batch")
    return None if given is None else BatchOptions.model_validate(given)


def _max_block(options: dict[str, Any]) -> float | None:
    """Return the limit for retries in an ordered hook. A hook that blocks has none."""
    if not is_ordered(options) or options.get("on_exhausted") == BLOCK:
        return None
    return float(options.get("max_block") or MAX_BLOCK)


@dataclass(frozen=True, slots=True)
class Reply:
    """The parts of an answer that decide. `status` is None without an answer.

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
    """Return the seconds until the next attempt. Return None if `spent` has no retry left."""
    if spent >= len(policy.retries):
        return None
    if number < len(policy.retries):
        nominal = policy.retries[number]
    else:
        # Only attempts that were throttled come after the schedule's end.
        nominal = policy.retries[-1] or THROTTLED_DELAY
    return nominal * random.uniform(1 - policy.jitter, 1 + policy.jitter)  # noqa: S311 - spreads load, keeps no secret


def _within(due_at: int, now: int, limit: int) -> int | None:
    """Return when the next attempt is due: at the limit at the latest. None: the limit is over."""
    return min(due_at, limit) if now < limit else None


def _wish(pause: float, limited: bool) -> str | None:
    if pause:
        return f"retry-after={pause:.0f}"
    return "throttle" if limited else None


def parse_retry_after(header: str, now: int, longest: float = 24 * 3600) -> float:
    """Return the seconds that a Retry-After asks for, at most `longest`. Return 0 if it is
    invalid.
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
