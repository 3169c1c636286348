"""One attempt at a delivery that is in hand: made, or given up for good where it cannot be."""

from collections.abc import Callable

from store import Store
from store.delivery import deliveries
from store.delivery.attempts import Outcome
from worker.delivery.lane import QueuedDelivery
from worker.delivery.payload_cache import Payload, PayloadCache
from worker.delivery.send import send
from worker.delivery.target import Target
from worker.http.transport import HttpSender


class Attempter:
    """Makes attempts. What is sent comes from `contents`, where the newest events are."""

    def __init__(self, store: Store, contents: PayloadCache, poster: HttpSender) -> None:
        self._store = store
        self._payloads = contents
        self._sender = poster

    async def make(
        self,
        target: Target | None,
        item: QueuedDelivery,
        hook_id: int,
        lease_id: int,
        may_send: Callable[[], bool],
        may_reach: Callable[[str], bool],
    ) -> Outcome | None:
        """Make one attempt; None where the delivery had to be buried instead. Busy, Unavailable or
        Withheld before anything was sent.
        """
        content = await target.content(self._payloads, item.event_id) if target else None
        reason = _undeliverable_reason(target, content, item, self._store.clock.now())
        if reason is not None:
            await self._store.note(deliveries.mark_dead, lease_id, [item.delivery_id], reason)
            return None
        assert target is not None
        assert content is not None
        return await send(
            self._sender,
            target,
            content,
            item,
            hook_id=hook_id,
            lease_id=lease_id,
            clock=self._store.clock.now,
            may_send=may_send,
            may_reach=may_reach,
        )


def _undeliverable_reason(
    target: Target | None, content: Payload | None, item: QueuedDelivery, now: int
) -> str | None:
    """Why a delivery cannot be tried, if so."""
    if target is None:
        return "the hook is gone"
    if target.over(now):
        return "the lease has ended"
    if content is None:
        return "the payload is no longer kept"
    asked = bool(item.redelivery) and item.attempts == 0
    if not target.accepts(content.name, asked=asked):
        return "the hook was deleted" if target.deleted else "the hook is not active"
    return None
