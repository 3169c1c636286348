"""Where the store announces work in this process: new deliveries, hooks and jobs that are due."""

from collections.abc import Callable, Collection, Iterable, Sequence

from store.database.notifications import LeasedEvent
from store.delivery.websub import WEBSUB_WAKEUP
from store.jobs.jobs import JOBS_WAKEUP
from worker.delivery.claimer import Claimer
from worker.delivery.lane import Lane, LaneTable, QueuedDelivery
from worker.delivery.lease_buffer import LeaseBuffer
from worker.delivery.payload_cache import Payload, PayloadCache


def _ignore() -> None:
    pass


class LocalDispatcher:
    """A `notifications.WorkerNotifier`. `start` starts what a lane may have in flight. The store
    calls `lease` and `full` on the writer's thread too.
    """

    def __init__(
        self,
        lanes: LaneTable,
        buffer: LeaseBuffer,
        payloads: PayloadCache,
        claimer: Claimer,
        start: Callable[[Lane], None],
    ) -> None:
        self._lanes = lanes
        self._buffer = buffer
        self._payloads = payloads
        self._claimer = claimer
        self._start = start
        self.on_websub_due: Callable[[], None] = _ignore
        """Called when a WebSub request or topic may be due."""
        self.on_job_due: Callable[[], None] = _ignore
        """Called when a job may be due earlier than known."""
        self.on_events_stored: Callable[[], None] = _ignore
        """Called when events were stored."""

    def lease(self) -> int | None:
        """The lease for deliveries of new events. None if they shall wait in the store."""
        return None if self._buffer.over_capacity else self._buffer.open_lease

    def full(self) -> Collection[int]:
        """Hooks whose new deliveries shall wait in the store."""
        return self._lanes.full

    def dispatch(self, offers: Sequence[LeasedEvent]) -> None:
        """Put the deliveries of new events into lanes, and start them."""
        touched: dict[int, Lane] = {}
        for offer in offers:
            if offer.lease_id != self._buffer.lease:
                continue  # the lease has ended meanwhile: a poll finds the deliveries
            payload = Payload(offer.name, offer.guid, offer.body, accepted_at=offer.accepted_at)
            payload.republished = offer.republished
            self._payloads.put(offer.event_id, payload)
            self._buffer.add([delivery_id for delivery_id, _, _ in offer.deliveries])
            for delivery_id, hook_id, version in offer.deliveries:
                lane = touched[hook_id] = self._lanes.get(hook_id)
                lane.queue.append(QueuedDelivery(delivery_id, offer.event_id, 0, 0, version))
        for lane in touched.values():
            self._start(lane)

    def wake(self, hooks: Iterable[int]) -> None:
        """Claim what is due for these hooks, and check whether they were edited."""
        for hook_id in hooks:
            if hook_id == WEBSUB_WAKEUP:
                self.on_websub_due()
            elif hook_id == JOBS_WAKEUP:
                self.on_job_due()
            else:
                self._claimer.recheck(hook_id)
        self._claimer.claim_soon()

    def arrived(self) -> None:
        """Report that events were stored."""
        self.on_events_stored()
