"""Claims of followers: the deliveries that go with the first one of an ordered key."""

from collections.abc import Awaitable, Callable
from typing import Any

from store import Store
from store.ordering import followers
from worker.delivery.lane import QueuedDelivery
from worker.delivery.leased import LeasedDeliveries


class FollowerClaims:
    """The claims of followers, which wait in the store and in no lane."""

    def __init__(self, store: Store, leased: LeasedDeliveries) -> None:
        self._store = store
        self._leased = leased

    @property
    def _write(self) -> Callable[..., Awaitable[Any]]:
        # If a crash of the database undid a claim, another worker could claim the same deliveries.
        return self._store.note if self._store.engine.single_worker else self._store.write

    async def claim(
        self, hook_id: int, first: QueuedDelivery, lease_id: int, most: int
    ) -> list[QueuedDelivery]:
        """Claim deliveries that may go with `first`, so that the batch has `most` at most.

        Return them. A delivery that is not ordered has no followers, and neither has a redelivery
        out of turn.
        """
        turn = first.turn
        if turn is None or turn.sequence is None or turn.out_of_turn or most == 1:
            return []
        key = hook_id, turn.key
        found = await self._write(
            followers.claim, key, (first.delivery_id, turn), lease_id, most - 1
        )
        self._leased.hold([one.id for one in found])
        return [QueuedDelivery.of(one, first.version) for one in found]
