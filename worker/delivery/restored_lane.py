"""A lane whose hook was failing before this worker had the lane, such as before a restart."""

from math import log2

from store.clock import SECOND
from store.hook_state.hook_health import Cooldown
from worker.delivery.lane import Lane


def restore(lane: Lane, now: int, loop_now: float) -> None:
    """Continue as the lane of a failing hook, when the hook is read for the first time.

    `now` is in microseconds, and `loop_now` is the time of the event loop's clock.
    """
    if lane.restored or lane.target is None:
        return
    lane.restored = True
    if not lane.target.failing:
        return
    lane.window = 1
    rest, breaker = lane.target.rest, lane.target.policy.breaker
    if rest is not None and breaker:
        lane.failures = breaker + _doublings(rest, lane.tuning.first_cooldown)
        left = min((rest.until - now) / SECOND, lane.tuning.max_cooldown)
        lane.cooldown_until = loop_now + left if left > 0 else 0.0


def _doublings(rest: Cooldown, first_cooldown: float) -> int:
    """Return how often the cooldown was doubled before the rest."""
    times = rest.length / SECOND / first_cooldown
    return round(log2(times)) if times > 1 else 0
