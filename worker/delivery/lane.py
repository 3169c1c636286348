"""A lane: one hook's deliveries in memory, and its own limits.

Each lane has its own queue, concurrency, rate and breaker. So an endpoint that hangs or fails costs
the others nothing.
"""

import asyncio
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from worker.delivery.target import Target
from worker.tuning import DEFAULTS, Tuning

# A new or failing endpoint gets few requests at once, and more with every one that succeeds.
FIRST_WINDOW = 4


@dataclass(slots=True)
class QueuedDelivery:
    """A delivery that is leased and waits in memory."""

    delivery_id: int
    event_id: int
    attempts: int
    redelivery: int
    version: int


@dataclass(slots=True)
class Lane:
    """One hook's deliveries. Times are seconds of the event loop's clock, except `next_due`."""

    hook_id: int
    target: Target | None = None
    host: str = ""
    """Host and port of the hook's URL, empty until the hook was read."""
    machine: str = ""
    """Hooks that lead to the same machine share a limit. It is the host's name at first. As soon as
    a request is about to be sent, it is the address.
    """
    queue: deque[QueuedDelivery] = field(default_factory=deque)
    in_flight: int = 0
    window: int = FIRST_WINDOW
    failures: int = 0
    cooldown_until: float = 0.0
    not_before: float = 0.0
    backlog: bool = False
    """The store may hold more deliveries that are due."""
    claiming: bool = False
    """A claim for this lane is under way."""
    next_due: int | None = None
    """When (microseconds) the next delivery in the store is due, as far as is known."""
    stale: bool = False
    """The hook may have been edited since `target` was read."""
    invalidations: int = 0
    """How often that was reported."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while `target` is read."""
    waiting: bool = False
    """The lane waits at the limit that all lanes share."""
    waiting_since: float = 0.0
    has_timer: bool = False
    """A timer will start the lane again."""
    tuning: Tuning = DEFAULTS

    def __post_init__(self) -> None:
        self.machine = self.machine or self.host

    @property
    def full(self) -> bool:
        """Whether new deliveries stay in the store."""
        return len(self.queue) >= self.tuning.max_queue or self.cooldown_until > 0

    @property
    def idle(self) -> bool:
        """Whether the lane holds and expects nothing. Then only the window would be lost."""
        held = self.queue or self.in_flight or self.has_timer or self.waiting
        expects = self.backlog or self.claiming or self.next_due is not None
        return not (held or expects)

    def wait(self, now: float) -> float:
        """Seconds until the cooldown and the rate allow the next request."""
        return max(self.cooldown_until, self.not_before) - now

    def can_start(self) -> bool:
        """Whether a delivery waits and the hook's limit allows one more request in flight."""
        return bool(self.queue) and self.in_flight < self.limit

    @property
    def limit(self) -> int:
        """Requests in flight at most. It is one until the hook was read."""
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
        """Check the hook's version before anything more is sent."""
        self.stale = True
        self.invalidations += 1

    def confirm(self, version: int, invalidations: int) -> None:
        """Trust the target again if the hook still has its version. `invalidations` is the count
        from before the version was read.
        """
        if self.target is None or self.invalidations != invalidations:
            return
        if self.target.version == version:
            self.stale = False

    def forget_target(self) -> None:
        """Read the hook before anything more is sent."""
        self.target = None
        self.invalidate()

    def pause(self, until: float) -> None:
        """Start nothing before this time."""
        self.not_before = max(self.not_before, until)

    def record_success(self) -> None:
        """Widen the window."""
        self.failures = 0
        self.window += 1
        if self.target is not None:
            self.window = min(self.window, self.target.policy.concurrency)

    def record_failure(self, now: float) -> float:
        """Narrow the window. Returns the seconds of the cooldown if one begins now, else 0."""
        self.window = max(1, self.window // 2)
        if self.cooldown_until:
            # The request was in flight when the cooldown began: the same failure, not one more.
            return 0.0
        self.failures += 1
        breaker = self.target.policy.breaker if self.target is not None else 0
        if not breaker or self.failures < breaker:
            return 0.0
        doubled = self.tuning.first_cooldown * 2 ** min(self.failures - breaker, 10)
        cooldown: float = min(doubled, self.tuning.max_cooldown)
        self.cooldown_until = now + cooldown
        # After it one request probes whether the endpoint works again.
        self.window = 1
        return cooldown

    def end_cooldown(self, now: float) -> None:
        """End the cooldown if its time is over."""
        if self.cooldown_until <= now:
            self.cooldown_until = 0.0


class LaneTable:
    """The lanes by their hooks: one for each hook that holds, expects or has learned something."""

    def __init__(self, tuning: Tuning = DEFAULTS) -> None:
        self._tuning = tuning
        self._lanes: dict[int, Lane] = {}
        self._full: set[int] = set()

    def get(self, hook_id: int) -> Lane:
        """The hook's lane, a new one if there is none."""
        lane = self._lanes.get(hook_id)
        if lane is None:
            lane = self._lanes[hook_id] = Lane(hook_id, tuning=self._tuning)
        return lane

    def __contains__(self, hook_id: object) -> bool:
        return hook_id in self._lanes

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._lanes.values())

    def __len__(self) -> int:
        return len(self._lanes)

    @property
    def full(self) -> Collection[int]:
        """Hooks whose lanes are full now. May be called on any thread."""
        return tuple(self._full)

    @property
    def cooling_down(self) -> int:
        """How many endpoints are in a cooldown."""
        return sum(1 for lane in self if lane.cooldown_until)

    def update_full(self, lane: Lane) -> None:
        """Take note of whether the lane is full."""
        if lane.full:
            self._full.add(lane.hook_id)
        else:
            self._full.discard(lane.hook_id)

    def remove_idle(self) -> None:
        """Remove the lanes that hold and expect nothing."""
        for lane in [lane for lane in self if lane.idle]:
            del self._lanes[lane.hook_id]
            self._full.discard(lane.hook_id)
