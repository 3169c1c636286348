"""Where the store announces work: deliveries go to lanes, other news to who sees to it."""

from collections.abc import Callable, Collection, Iterable, Sequence

from store.database.notifications import LeasedEvent
from store.delivery.websub import WEBSUB_WAKEUP
from store.jobs.jobs import JOBS_WAKEUP
from worker.delivery.claimer import Claimer
from worker.delivery.lane import Lane, QueuedDelivery
from worker.delivery.lanes import Lanes
from worker.delivery.lease_buffer import LeaseBuffer
from worker.delivery.payload_cache import Payload, PayloadCache


class LocalDispatcher:
    """A `notifications.Courier`. `pump` starts what a lane may have in flight; `lease` and `full`
    are called on the writer's thread too.
    """

    def __init__(
        self,
        lanes: Lanes,
        hand: LeaseBuffer,
        contents: PayloadCache,
        claims: Claimer,
        pump: Callable[[Lane], None],
    ) -> None:
        self._lanes = lanes
        self._buffer = hand
        self._payloads = contents
        self._claimer = claims
        self._pump = pump
        self.on_websub_due: Callable[[], None] = lambda: None
        """Called when what is wanted is no delivery."""
        self.plan: Callable[[], None] = lambda: None
        """Called when a job may be due before what was known."""
        self.on_events_stored: Callable[[], None] = lambda: None
        """Called when events were kept."""

    def lease(self) -> int | None:
        """The lease that deliveries may be taken under now."""
        return None if self._buffer.over_capacity else self._buffer.open_lease

    def full(self) -> Collection[int]:
        """Hooks whose lanes take no more."""
        return self._lanes.full

    def dispatch(self, offers: Sequence[LeasedEvent]) -> None:
        """Take new deliveries in hand."""
        touched: dict[int, Lane] = {}
        for offer in offers:
            if offer.lease_id != self._buffer.lease:
                continue  # the lease was ended meanwhile: a look finds what others leave
            content = Payload(offer.name, offer.guid, offer.body, accepted_at=offer.accepted_at)
            content.republished = offer.republished
            self._payloads.put(offer.event_id, content)
            self._buffer.take([delivery_id for delivery_id, _, _ in offer.deliveries])
            for delivery_id, hook_id, version in offer.deliveries:
                lane = touched[hook_id] = self._lanes.of(hook_id)
                lane.queue.append(QueuedDelivery(delivery_id, offer.event_id, 0, 0, version))
        for lane in touched.values():
            self._pump(lane)

    def wake(self, hooks: Iterable[int]) -> None:
        """Look for what is due for these hooks, and at what they have become."""
        for hook_id in hooks:
            if hook_id == WEBSUB_WAKEUP:
                self.on_websub_due()
            elif hook_id == JOBS_WAKEUP:
                self.plan()
            else:
                self._recheck(self._lanes.of(hook_id))
        self._claimer.soon()

    def _recheck(self, lane: Lane) -> None:
        # Of an endpoint that rests this is said with every event.
        if not (lane.stale and lane.backlog):
            lane.invalidate()
            self._claimer.mark(lane)

    def arrived(self) -> None:
        """Let what follows from events beside deliveries be seen to."""
        self.on_events_stored()
