"""The decision after an attempt: delivered, to be retried at a certain time, or dead."""

import random
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from store.clock import SECOND
from store.delivery.attempts import DEAD, DELIVERED, WAITING
from worker.settings import WorkerSettings

MAX_RETRY_AFTER = 24 * 3600
GONE = 410


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


@dataclass(frozen=True, slots=True)
class Decision:
    """The next state of a delivery, and the time (microseconds) at which it is due or ended.

    `disable` is the reason to disable the hook, or None.
    """

    state: int
    due_at: int
    disable: str | None = None


def policy_for(settings: WorkerSettings, options: dict[str, Any]) -> Policy:
    """Return the policy of a hook with these options
    (store.delivery.hook_options.DeliveryOptions).
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
    )


def decide(
    policy: Policy,
    number: int,
    status: int | None,
    error: str | None,
    retry_after: str | None,
    now: int,
) -> Decision:
    """Return the decision after attempt `number` (1 for the first), which ended at `now`.

    `retry_after` is the value of the header Retry-After. `now` is in microseconds.
    """
    if error is None and status is not None and 200 <= status < 300:
        return Decision(DELIVERED, now)
    if status == GONE:
        return Decision(DEAD, now, "the receiver answered 410 Gone")
    if number >= len(policy.retries):
        return Decision(DEAD, now)
    delay = policy.retries[number] * random.uniform(1 - policy.jitter, 1 + policy.jitter)  # noqa: S311 - spreads load, keeps no secret
    floor = 0.0 if retry_after is None else parse_retry_after(retry_after, now)
    return Decision(WAITING, now + round(max(delay, floor) * SECOND))


def parse_retry_after(header: str, now: int) -> float:
    """Return the seconds that a Retry-After asks for, at most a day. Return 0 if it is invalid."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), MAX_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(moment.timestamp() - now / SECOND, 0.0), MAX_RETRY_AFTER)
