"""The requests of a pull hook: built, signed and leased, with the bytes that a push would have."""

from collections.abc import Iterable, Sequence

from store import Connection, Row
from store.clock import SECOND
from store.database.notifications import Turn
from store.ordering import places
from store.pull import pull_leases
from store.pull.fetching import Fetch, FetchedDelivery
from store.pull.pull_leases import NewLease
from worker.delivery.lane import QueuedDelivery
from worker.delivery.ordering_headers import with_ordering
from worker.delivery.payload import Payload
from worker.delivery.target import Target


def turns_of(db: Connection, rows: Iterable[Row]) -> dict[int, Turn]:
    """Return delivery id to turn, for the ordered ones among these deliveries or leases."""
    ordered = [_delivery_id(row) for row in rows if row["ordering_key"] is not None]
    return places.turns_of(db, ordered) if ordered else {}


def queued(row: Row, target: Target, turns: dict[int, Turn]) -> QueuedDelivery:
    """Return a due or leased delivery as the worker has it in memory."""
    delivery_id = _delivery_id(row)
    return QueuedDelivery(
        delivery_id,
        row["event_id"],
        row["attempts"],
        row["redelivery"],
        target.version,
        row["throttled"],
        turns.get(delivery_id),
    )


def _delivery_id(row: Row) -> int:
    """Return the id of a delivery, or of the delivery of a lease."""
    found: int = row["delivery_id"] if "delivery_id" in row else row["id"]
    return found


def lease(
    db: Connection,
    hook_id: int,
    target: Target,
    sendable: Sequence[tuple[QueuedDelivery, Payload]],
    request: Fetch,
) -> list[FetchedDelivery]:
    """Lease deliveries to a consumer, and return them as it gets them."""
    expires_at = db.now + round(request.seconds * SECOND)
    built = [_built(target, item, payload, db.now) for item, payload in sendable]
    leases = [
        NewLease(item.delivery_id, recorded)
        for (item, _), (_, recorded, _) in zip(sendable, built, strict=True)
    ]
    ids = pull_leases.acquire(db, hook_id, request.consumer, leases, expires_at) if leases else []
    return [
        FetchedDelivery(
            lease_id,
            item.delivery_id,
            payload.guid,
            payload.name,
            item.attempts + 1,
            bool(item.redelivery or item.attempts),
            expires_at,
            _headers(head),
            body,
        )
        for lease_id, (item, payload), (head, _, body) in zip(ids, sendable, built, strict=True)
    ]


def _built(
    target: Target, item: QueuedDelivery, payload: Payload, now: int
) -> tuple[str, str, bytes]:
    """Return the head of the request, the head as it is recorded, and the body."""
    rendered = target.render(payload, now)
    overlap = target.signatures.overlap
    new_first = overlap is not None and overlap.new_first_if_fetched(item.attempts)
    head = target.head(payload, rendered, now // SECOND, new_first=new_first)
    if item.turn is not None:
        head = with_ordering(head, item.turn)
    if payload.trace is not None:
        head = target.with_trace(head, payload.trace)
    access = target.access
    if access is None:
        return head, head, rendered.body
    return access.sent_head(head), access.recorded_head(head), rendered.body


def _headers(head: str) -> dict[str, str]:
    """Return the headers in the head of a request, none of which occurs twice."""
    # The first line is not a header, and the head ends with an empty line.
    lines = (line.partition(": ") for line in head.split("\r\n")[1:-2])
    return {name: value for name, _, value in lines}
