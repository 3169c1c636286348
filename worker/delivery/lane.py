"""A lane: one hook's deliveries in hand, and whether the next may start.

Each lane has its own queue, concurrency, rate and breaker, so that an endpoint that hangs or fails
costs the others nothing.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from worker.delivery.target import Target

# A new or failing endpoint gets few requests at once, and more with every one that succeeds.
FIRST_WINDOW = 4
FIRST_COOLDOWN, MAX_COOLDOWN = 5.0, 300.0
MAX_QUEUE = 1024


@dataclass(slots=True)
class QueuedDelivery:
    """A delivery in hand."""

    delivery_id: int
    event_id: int
    attempts: int
    redelivery: int
    version: int


@dataclass(slots=True)
class Lane:
    """Moments are of the event loop's clock, in seconds, except `next_due`."""

    hook_id: int
    target: Target | None = None
    host: str = ""
    """Host and port that the hook leads to, once it was looked at."""
    machine: str = ""
    """What its requests count for together with those of other hooks: the host's name, and the
    address that this turned out to be as soon as a request was about to be sent there.
    """
    queue: deque[QueuedDelivery] = field(default_factory=deque)
    in_flight: int = 0
    window: int = FIRST_WINDOW
    failures: int = 0
    cooldown_until: float = 0.0
    not_before: float = 0.0
    backlog: bool = False
    """The store may hold more of it that is due."""
    claiming: bool = False
    """It is being asked for what is due."""
    next_due: int | None = None
    """When (microseconds) the store has something due, as far as is known."""
    stale: bool = False
    """Its hook may have been edited since `target` was read."""
    doubts: int = 0
    """How often that was said."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while `target` is read."""
    waiting: bool = False
    """It waits for its turn at the limit that all lanes share."""
    waiting_since: float = 0.0
    has_timer: bool = False
    """A timer will take it up again."""

    def __post_init__(self) -> None:
        self.machine = self.machine or self.host

    @property
    def full(self) -> bool:
        """Whether new deliveries had better stay in the store."""
        return len(self.queue) >= MAX_QUEUE or self.cooldown_until > 0

    @property
    def idle(self) -> bool:
        """Whether nothing would be lost with it but what it learned of its endpoint."""
        held = self.queue or self.in_flight or self.has_timer or self.waiting
        expects = self.backlog or self.claiming or self.next_due is not None
        return not (held or expects)

    def wait(self, now: float) -> float:
        """Seconds until the endpoint may be sent something: its rest, or its rate."""
        return max(self.cooldown_until, self.not_before) - now

    def can_start(self) -> bool:
        """Whether one more request may be in flight."""
        return bool(self.queue) and self.in_flight < self.limit

    @property
    def limit(self) -> int:
        """Requests in flight at most: one until it is known what the hook allows."""
        return 1 if self.target is None else min(self.window, self.target.policy.concurrency)

    @property
    def rate(self) -> float | None:
        """Requests a second at most."""
        return None if self.target is None else self.target.policy.rate

    def count_request(self, now: float) -> None:
        """Count a request against the rate."""
        if self.rate is not None:
            self.not_before = max(now, self.not_before) + 1 / self.rate

    def invalidate(self) -> None:
        """Have its hook looked at before anything more is sent."""
        self.stale = True
        self.doubts += 1

    def confirm(self, version: int, doubts: int) -> None:
        """Its hook was seen to have this version when there had been so many doubts."""
        if self.doubts == doubts and self.target is not None and self.target.version == version:
            self.stale = False

    def forget(self) -> None:
        """Have its hook read before anything more is sent."""
        self.target = None
        self.invalidate()

    def pause(self, until: float) -> None:
        """Start nothing before this moment."""
        self.not_before = max(self.not_before, until)

    def succeeded(self) -> None:
        """The endpoint works: more at once."""
        self.failures = 0
        self.window += 1
        if self.target is not None:
            self.window = min(self.window, self.target.policy.concurrency)

    def failed(self, now: float) -> float:
        """The endpoint failed: fewer at once. Returns the seconds it is to rest, beginning now."""
        self.window = max(1, self.window // 2)
        if self.cooldown_until:
            # It was in flight when the rest began: the same failure, not one more.
            return 0.0
        self.failures += 1
        breaker = self.target.policy.breaker if self.target is not None else 0
        if not breaker or self.failures < breaker:
            return 0.0
        rest: float = min(FIRST_COOLDOWN * 2 ** min(self.failures - breaker, 10), MAX_COOLDOWN)
        self.cooldown_until = now + rest
        # One request then tells whether it works again.
        self.window = 1
        return rest

    def end_cooldown(self, now: float) -> None:
        """End the rest if its time is over."""
        if self.cooldown_until <= now:
            self.cooldown_until = 0.0
