"""Events: they are accepted with their deliveries, and read again.

An event and its deliveries are written in one transaction, so neither exists without the other.
"""

from collections.abc import Sequence

from store.database import body_codec
from store.database.connection import Connection, Row, json_array
from store.delivery.event_fields import COLUMNS
from store.delivery.fan_out import fan_out
from store.delivery.incoming import IncomingEvent, Receipt
from store.errors import Conflict
from store.monitoring import minute_counters
from store.ordering.delivery_states import FILTERED
from store.trace_context import TraceContext

INSERTED = (
    "guid, scope, repo_id, org_id, source_id, token_id, name, action, installation_id,"
    " received_at, size, digest, body, traceparent, tracestate"
)


def accept(db: Connection, arrivals: Sequence[IncomingEvent]) -> list[Receipt | Exception]:
    """Store events with their deliveries. This is a batch function of the writer.

    If an event's guid is known, its result is the first event's receipt if both are equal, or else
    a Conflict.
    """
    made = insert(db, arrivals)
    results: list[Receipt | IncomingEvent] = []
    fresh: list[tuple[Receipt, IncomingEvent]] = []
    for arrival in arrivals:
        event_id = made.pop((arrival.guid, arrival.scope), None)
        if event_id is None:
            # The guid was stored before, or occurs earlier in this batch.
            results.append(arrival)
            continue
        receipt = Receipt(event_id, arrival.guid, 0, False)
        results.append(receipt)
        fresh.append((receipt, arrival))
    for _, arrival in fresh:
        owner = arrival.repo_id or -arrival.org_id
        minute_counters.increment(db, (owner, (minute_counters.EVENTS,)))
    if fresh:
        db.after_commit(db.notifier.arrived)
        fan_out(db, fresh)
    return [
        _repeated(db, result) if isinstance(result, IncomingEvent) else result for result in results
    ]


def accept_all(db: Connection, arrivals: Sequence[IncomingEvent]) -> list[Receipt]:
    """Store all of these events, or none: the first Conflict is raised."""
    receipts = []
    for result in accept(db, arrivals):
        if isinstance(result, Exception):
            raise result
        receipts.append(result)
    return receipts


def insert(db: Connection, arrivals: Sequence[IncomingEvent]) -> dict[tuple[str, int], int]:
    """Insert the events with new guids. Return their ids by guid and scope."""
    rows = [
        (
            arrival.guid,
            arrival.scope,
            arrival.repo_id,
            arrival.org_id,
            arrival.source_id,
            arrival.token_id,
            arrival.name,
            arrival.action,
            arrival.installation_id,
            db.now,
            len(arrival.body),
            arrival.digest,
            arrival.packed,
            *_trace_columns(arrival.trace),
        )
        for arrival in arrivals
    ]
    then = "ON CONFLICT (guid, scope) DO NOTHING RETURNING id, guid, scope"
    return {
        (guid, scope): id_ for id_, guid, scope in db.insert_many("event", INSERTED, rows, then)
    }


def _trace_columns(trace: TraceContext | None) -> tuple[str | None, str | None]:
    return (None, None) if trace is None else (trace.parent, trace.state or None)


def _repeated(db: Connection, arrival: IncomingEvent) -> Receipt | Exception:
    first = db.required(
        "SELECT id, name, repo_id, digest FROM event WHERE guid = :guid AND scope = :scope",
        guid=arrival.guid,
        scope=arrival.scope,
    )
    same = (arrival.name, arrival.digest)
    if (first["name"], bytes(first["digest"])) != same or not _same_place(first, arrival):
        return Conflict(f"delivery id {arrival.guid!r} was used for another event")
    count = db.value(
        "SELECT count(*) FROM delivery WHERE event_id = :id AND redelivery = 0"
        f" AND state <> {FILTERED}",
        id=first["id"],
    )
    return Receipt(first["id"], arrival.guid, count, True)


def _same_place(first: Row, arrival: IncomingEvent) -> bool:
    """Return whether two equal events of one sender are of one repository.

    The first one may have made the repository known, or it was deleted since.
    """
    return first["repo_id"] == arrival.repo_id or 0 in (first["repo_id"], arrival.repo_id)


def get(db: Connection, event_id: int) -> Row | None:
    """Return the event with its `body` as bytes (None if retention has deleted it), or None."""
    row = db.one(f"SELECT {COLUMNS}, e.body FROM event e WHERE e.id = :id", id=event_id)
    return None if row is None else _unpacked(row)


def _unpacked(row: Row) -> Row:
    if row["body"] is not None:
        row["body"] = body_codec.decompress(row["body"])
    return row


def get_many(db: Connection, event_ids: list[int], most: int) -> dict[int, Row | None]:
    """Return the first of these events, as `get` does, up to `most` bytes altogether.

    At least one event is returned, however large it is.
    """
    # A single event is returned whatever its size, so its size is not read.
    chosen = event_ids if len(event_ids) == 1 else _first_within(db, event_ids, most)
    rows = db.all(
        f"SELECT {COLUMNS}, e.body FROM event e WHERE e.id {db.among('ids')}",
        ids=json_array(chosen),
    )
    found: dict[int, Row | None] = dict.fromkeys(chosen)
    for row in rows:
        found[row["id"]] = _unpacked(row)
    return found


def _first_within(db: Connection, event_ids: list[int], most: int) -> list[int]:
    """Return the first of these events whose bodies have up to `most` bytes, one at least."""
    sizes = db.mapping(
        f"SELECT id, size FROM event WHERE id {db.among('ids')}", ids=json_array(event_ids)
    )
    total = 0
    chosen: list[int] = []
    for event_id in event_ids:
        total += sizes.get(event_id, 0)
        if chosen and total > most:
            break
        chosen.append(event_id)
    return chosen
