"""Groups: which deliveries of a hook go together, and when."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from store.clock import SECOND
from store.hooks.batch_options import BatchOptions
from store.ordering import followers
from worker.delivery.lane import QueuedDelivery
from worker.delivery.leased import LeasedDeliveries


def seconds_to_fill(limits: BatchOptions, waiting: Sequence[QueuedDelivery], now: int) -> float:
    """Return how long the next batch waits for more. 0 means that it may be sent.

    `waiting` are the deliveries of a lane, at least one. `now` is in microseconds.
    """
    first = waiting[0]
    # If the first delivery is ordered, the others of its batch are in the store, not in `waiting`.
    if first.turn is None and len(waiting) >= limits.max_events:
        return 0.0
    left = (first.due_at - now) / SECOND + limits.max_wait
    if left <= 0 or _any_requested(islice(waiting, limits.max_events)):
        return 0.0
    # A clock that was set back must not delay the batch.
    return min(left, limits.max_wait)


def _any_requested(waiting: Iterable[QueuedDelivery]) -> bool:
    """Return whether a person waits for one of these deliveries."""
    return any(item.redelivery and not item.attempts for item in waiting)


def take(
    limits: BatchOptions,
    first: QueuedDelivery,
    waiting: Sequence[QueuedDelivery],
    pop: Callable[[], QueuedDelivery],
) -> list[QueuedDelivery]:
    """Return the deliveries of the next batch, which begins with `first`.

    `pop` removes and returns the next of `waiting`. An ordered delivery goes with none of these,
    because they have other keys.
    """
    group = [first]
    while len(group) < limits.max_events and waiting:
        if first.turn is not None or waiting[0].turn is not None:
            break
        group.append(pop())
    return group


async def claim_followers(
    leased: LeasedDeliveries, hook_id: int, first: QueuedDelivery, lease_id: int, most: int
) -> list[QueuedDelivery]:
    """Claim the followers of an ordered delivery, so that the batch has `most` at most.

    Return them. They wait in the store and in no lane. A delivery that is not ordered has no
    followers, and neither has a redelivery out of turn.
    """
    turn = first.turn
    if turn is None or turn.sequence is None or turn.out_of_turn or most == 1:
        return []
    key = hook_id, turn.key
    found = await leased.claim(followers.claim, key, (first.delivery_id, turn), lease_id, most - 1)
    leased.hold([one.id for one in found])
    return [QueuedDelivery.of(one, first.version) for one in found]
