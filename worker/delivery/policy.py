"""The policy of a hook: the settings of deliveries, with the hook's own options applied."""

from dataclasses import dataclass
from typing import Any

from store.hooks.batch_options import BatchOptions
from store.hooks.hook_ordering import BLOCK, is_ordered
from worker.settings import WorkerSettings

# In seconds: how long an ordered delivery is retried while others wait for it.
MAX_BLOCK = 3600.0


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
    sharers: int | None = None
    """How many workers share the rate that the receiver granted. None: it granted none."""


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
