"""Claims of followers: the deliveries that go with the first one of an ordered key."""

from store.ordering import followers
from worker.delivery.lane import QueuedDelivery
from worker.delivery.leased import LeasedDeliveries


async def claim_followers(
    leased: LeasedDeliveries, hook_id: int, first: QueuedDelivery, lease_id: int, most: int
) -> list[QueuedDelivery]:
    """Claim deliveries that may go with `first`, so that the batch has `most` at most.

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
