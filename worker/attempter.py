"""One attempt at a delivery that is in hand: made, or given up for good where it cannot be."""

from store import Store, deliveries
from store.attempts import Outcome
from worker.content import Content, Contents
from worker.lane import Item
from worker.send import send
from worker.target import Target
from worker.transport import Poster


class Attempter:
    """Makes attempts. What is sent comes from `contents`, where the newest events are."""

    def __init__(self, store: Store, contents: Contents, poster: Poster) -> None:
        self._store = store
        self._contents = contents
        self._poster = poster

    async def make(
        self, target: Target | None, item: Item, hook_id: int, lease_id: int
    ) -> Outcome | None:
        """Make one attempt; None where the delivery had to be buried instead. Busy or Unavailable
        before anything was sent.
        """
        content = await target.content(self._contents, item.event_id) if target else None
        reason = _hopeless(target, content, item, self._store.clock.now())
        if reason is not None:
            await self._store.note(deliveries.bury, lease_id, [item.delivery_id], reason)
            return None
        assert target is not None
        assert content is not None
        return await send(
            self._poster,
            target,
            content,
            item,
            hook_id=hook_id,
            lease_id=lease_id,
            clock=self._store.clock.now,
        )


def _hopeless(target: Target | None, content: Content | None, item: Item, now: int) -> str | None:
    """Why a delivery cannot be tried, if so."""
    if target is None:
        return "the hook is gone"
    if target.over(now):
        return "the lease has ended"
    if content is None:
        return "the payload is no longer kept"
    asked = bool(item.redelivery) and item.attempts == 0
    if not target.takes(content.name, asked=asked):
        return "the hook was deleted" if target.deleted else "the hook is not active"
    return None
