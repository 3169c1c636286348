"""A lane: the deliveries of one hook in memory, with the hook's own limits.

Each lane has its own queue, concurrency, rate and circuit breaker. So an endpoint that hangs or
fails does not delay the others.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Self

from store.database.notifications import Turn
from store.delivery.deliveries import ClaimedDelivery
from store.hooks.batch_options import BatchOptions
from store.ordering.followers import Follower
from worker.delivery.target import Target
from worker.tuning import DEFAULTS, Tuning

# A new or failing endpoint gets few requests at once, and one more with each success.
FIRST_WINDOW = 4
READ_AHEAD = 16


@dataclass(slots=True)
class QueuedDelivery:
    """A leased delivery that waits in memory."""

    delivery_id: int
    event_id: int
    attempts: int
    redelivery: int
    version: int
    throttled: int = 0
    """How many of the attempts were answered 429."""
    turn: Turn | None = None
    """The delivery's place among the deliveries of its key, if the hook is ordered."""
    due_at: int = 0
    """Since when it has been due, in microseconds of the store's clock."""

    @classmethod
    def of(cls, one: ClaimedDelivery | Follower, version: int) -> Self:
        """Return a delivery that the store has claimed. `version` is the version of its hook."""
        return cls(
            one.id,
            one.event_id,
            one.attempts,
            one.redelivery,
            version,
            one.throttled,
            one.turn,
            one.due_at,
        )


@dataclass(slots=True)
class Lane:
    """The deliveries of one hook.

    Times are in seconds of the event loop's clock, except `next_due` and `held_until`.
    """

    hook_id: int
    target: Target | None = None
    host: str = ""
    """The host and port of the hook's URL. Empty until the hook was read."""
    machine: str = ""
    """The machine whose limit the lane shares with other hooks.

    At first it is the host's name. When a request is about to be sent, it is the address.
    """
    queue: deque[QueuedDelivery] = field(default_factory=deque)
    in_flight: int = 0
    window: int = FIRST_WINDOW
    failures: int = 0
    failing_key: str | None = None
    """The key of the last failure since a success, if the hook is ordered."""
    cooldown_until: float = 0.0
    not_before: float = 0.0
    backlog: bool = False
    """Whether the store may hold more due deliveries."""
    claiming: bool = False
    """Whether a claim for this lane is under way."""
    next_due: int | None = None
    """The time (microseconds) at which the next delivery in the store is due, as far as is
    known.
    """
    stale: bool = False
    """Whether the hook may have been edited since `target` was read."""
    invalidations: int = 0
    """How often `invalidate` was called."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    """The lock that is held while `target` is read."""
    waiting: bool = False
    """Whether the lane waits at the limit that all lanes share."""
    waiting_since: float = 0.0
    timer: asyncio.TimerHandle | None = None
    """The timer that will start the lane again."""
    held_until: int = 0
    """The time (microseconds of the store's clock) before which the receiver asked for nothing."""
    reported: dict[str, str] = field(default_factory=dict)
    """By kind of rest: the rest that the log has reported. Empty after a success."""
    batch_bytes: int | None = None
    """The size of a batch that the receiver may accept, after it answered 413."""
    tuning: Tuning = DEFAULTS
    restored: bool = False
    """Whether the hook was read, so that its earlier failures are known."""

    def __post_init__(self) -> None:
        self.machine = self.machine or self.host

    @property
    def full(self) -> bool:
        """Return whether new deliveries stay in the store."""
        queued = len(self.queue) >= self.tuning.max_queue
        return queued or self.cooldown_until > 0 or self.held_until > 0

    @property
    def idle(self) -> bool:
        """Return whether the lane holds and expects nothing.

        Removing it then only loses its window.
        """
        held = self.queue or self.in_flight or self.timer or self.waiting
        expects = self.backlog or self.claiming or self.next_due is not None or self.held_until
        return not (held or expects)

    def next_events(self) -> list[int]:
        """Return the events that are worth reading ahead."""
        return next_events(self.queue)

    def wait(self, now: float) -> float:
        """Return the seconds until the cooldown and the rate allow the next request."""
        return max(self.cooldown_until, self.not_before) - now

    def can_start(self) -> bool:
        """Return whether a delivery waits and the hook's limit allows one more request in
        flight.
        """
        return bool(self.queue) and self.in_flight < self.limit and not self.held_until

    @property
    def limit(self) -> int:
        """Return how many requests may be in flight. It is one until the hook was read."""
        return 1 if self.target is None else min(self.window, self.target.policy.concurrency)

    @property
    def rate(self) -> float | None:
        """Return how many requests a second may start. None means no limit."""
        return None if self.target is None else self.target.policy.rate

    @property
    def batch(self) -> BatchOptions | None:
        """Return the limits of the hook's batches. None means that deliveries go one by one."""
        return None if self.target is None else self.target.policy.batch

    @property
    def is_paced(self) -> bool:
        """Return whether a rate or a batch decides when each request starts."""
        return self.rate is not None or self.batch is not None

    def count_request(self, now: float) -> None:
        """Count a request against the rate."""
        if self.rate is not None:
            self.not_before = max(now, self.not_before) + 1 / self.rate

    def invalidate(self) -> None:
        """Have the hook's version checked before anything more is sent."""
        self.stale = True
        self.invalidations += 1

    def confirm(self, version: int, invalidations: int) -> None:
        """Trust the target again if the hook still has its version.

        `invalidations` is the count from before the version was read.
        """
        if self.target is None or self.invalidations != invalidations:
            return
        if self.target.version == version:
            self.stale = False

    def forget_target(self) -> None:
        """Have the hook read before anything more is sent."""
        self.target = None
        self.invalidate()

    def pause(self, until: float) -> None:
        """Start nothing before this time."""
        self.not_before = max(self.not_before, until)

    def record_success(self) -> None:
        """Reset the failures and widen the window."""
        self.failures = 0
        self.failing_key = None
        if self.reported:
            self.reported.clear()
        self.window += 1
        if self.target is not None:
            self.window = min(self.window, self.target.policy.concurrency)

    def record_failure(self, now: float, key: str | None = None) -> float:
        """Count a failure and narrow the window.

        `key` is the key of an ordered delivery. Failures of one key in a row count as one, because
        other keys must not suffer from it. Return the seconds of the cooldown if one begins now,
        else 0.
        """
        if key is not None and key == self.failing_key and not self._is_open:
            return 0.0
        self.failing_key = key
        self.window = max(1, self.window // 2)
        if self.cooldown_until:
            # The request was in flight when the cooldown began: it is the same failure, not one
            # more.
            return 0.0
        self.failures += 1
        breaker = self._breaker
        if not breaker or self.failures < breaker:
            return 0.0
        doubled = self.tuning.first_cooldown * 2 ** min(self.failures - breaker, 10)
        cooldown: float = min(doubled, self.tuning.max_cooldown)
        self.cooldown_until = now + cooldown
        # After the cooldown, one request probes whether the endpoint works again.
        self.window = 1
        return cooldown

    @property
    def _breaker(self) -> int:
        return self.target.policy.breaker if self.target is not None else 0

    @property
    def _is_open(self) -> bool:
        """Return whether enough failures were counted to open the circuit breaker."""
        return 0 < self._breaker <= self.failures

    def hold(self, until: int) -> None:
        """Send nothing until this time. Then one request probes the endpoint."""
        self.held_until = max(self.held_until, until)
        self.window = 1

    def end_hold(self, now: int) -> bool:
        """End the hold if its time is over. Return whether the lane may send."""
        if self.held_until <= now:
            self.held_until = 0
        return not self.held_until

    def rests(self, now: float) -> bool:
        """Return whether the cooldown lasts at this time."""
        return self.cooldown_until > now

    def end_cooldown(self, now: float) -> None:
        """End the cooldown if its time is over."""
        if self.cooldown_until <= now:
            self.cooldown_until = 0.0

    def forget_rests(self) -> None:
        """Forget that nothing may be sent for a while, because the hook was edited.

        If a rest goes on, the hook's row has it.
        """
        self.held_until = 0
        if self.cooldown_until:
            self.cooldown_until = 0.0
            self.failures = 0
            self.failing_key = None
            self.restored = False


def next_events(items: Iterable[QueuedDelivery]) -> list[int]:
    """Return the events of the first READ_AHEAD deliveries."""
    return [item.event_id for item in islice(items, READ_AHEAD)]
