"""Where the store announces work: deliveries go to lanes, other news to who sees to it."""

from collections.abc import Callable, Collection, Iterable, Sequence

from store.courier import Offer
from store.jobs import TIMETABLE
from store.websub import ERRAND
from worker.claims import Claims
from worker.content import Content, Contents
from worker.hand import Hand
from worker.lane import Item, Lane
from worker.lanes import Lanes


class Intake:
    """A store.courier.Courier. `pump` starts what a lane may have in flight; `lease` and `full`
    are called on the writer's thread too.
    """

    def __init__(
        self,
        lanes: Lanes,
        hand: Hand,
        contents: Contents,
        claims: Claims,
        pump: Callable[[Lane], None],
    ) -> None:
        self._lanes = lanes
        self._hand = hand
        self._contents = contents
        self._claims = claims
        self._pump = pump
        self.errand: Callable[[], None] = lambda: None
        """Called when what is wanted is no delivery."""
        self.plan: Callable[[], None] = lambda: None
        """Called when a job may be due before what was known."""
        self.news: Callable[[], None] = lambda: None
        """Called when events were kept."""

    def lease(self) -> int | None:
        """The lease that deliveries may be taken under now."""
        return None if self._hand.crowded else self._hand.open_lease

    def full(self) -> Collection[int]:
        """Hooks whose lanes take no more."""
        return self._lanes.full

    def offer(self, offers: Sequence[Offer]) -> None:
        """Take new deliveries in hand."""
        touched: dict[int, Lane] = {}
        for offer in offers:
            content = Content(offer.name, offer.guid, offer.body, accepted_at=offer.accepted_at)
            content.republished = offer.republished
            self._contents.put(offer.event_id, content)
            self._hand.take([delivery_id for delivery_id, _, _ in offer.deliveries])
            for delivery_id, hook_id, version in offer.deliveries:
                lane = touched[hook_id] = self._lanes.of(hook_id)
                lane.queue.append(Item(delivery_id, offer.event_id, 0, 0, version))
        for lane in touched.values():
            self._pump(lane)

    def wake(self, hooks: Iterable[int]) -> None:
        """Look for what is due for these hooks, and at what they have become."""
        for hook_id in hooks:
            if hook_id == ERRAND:
                self.errand()
            elif hook_id == TIMETABLE:
                self.plan()
            else:
                self._look_at(self._lanes.of(hook_id))
        self._claims.soon()

    def _look_at(self, lane: Lane) -> None:
        # Of an endpoint that rests this is said with every event.
        if not (lane.stale and lane.backlog):
            lane.doubt()
            self._claims.mark(lane)

    def arrived(self) -> None:
        """Let what follows from events beside deliveries be seen to."""
        self.news()
