"""Events, and the statement that creates their deliveries.

An event and its deliveries are written in one transaction, so neither exists without the other.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from store.database import body_codec
from store.database.connection import Connection, Row, json_array
from store.database.notifications import LeasedEvent, Turn
from store.delivery import filtering, subscribers
from store.delivery.subscribers import WIDER
from store.errors import Conflict
from store.hooks import pull_hooks
from store.hooks.event_names import FITTING, PLATFORM_EVENTS, WILDCARD
from store.hooks.hook_ordering import ORDERED
from store.hooks.hook_pauses import WITHHELD
from store.monitoring import minute_counters
from store.ordering import places
from store.ordering.delivery_states import BEHIND, FILTERED, WAITING
from store.ordering.places import NewDelivery
from store.trace_context import TraceContext

COLUMNS = (
    "e.id, e.guid, e.scope, e.repo_id, e.org_id, e.source_id, e.name, e.action, e.installation_id,"
    " e.received_at, e.size, e.traceparent, e.tracestate"
)
INSERTED = (
    "guid, scope, repo_id, org_id, source_id, name, action, installation_id, received_at, size,"
    " digest, body, traceparent, tracestate"
)

# These stand in place of a source's id. LOCAL_SOURCE marks changes made through the API, which the
# state already has. REPUBLISHED_SOURCE marks a snapshot of the state, and EXAMPLE_SOURCE an example
# that somebody sent to one hook.
LOCAL_SOURCE, REPUBLISHED_SOURCE, EXAMPLE_SOURCE = -1, -2, -3


@dataclass(slots=True)
class IncomingEvent:
    """An event that is to be accepted.

    `scope` is the namespace of its `guid`: a repository's id, or minus a source's id. `repo_id` is
    0 if the event belongs to no known repository. Then `org_id` may be the organization that it
    belongs to. `source_id` is 0 if a caller posted it with a token. `body` is the exact JSON text.
    """

    scope: int
    guid: str
    repo_id: int
    name: str
    body: bytes
    action: str | None = None
    source_id: int = 0
    installation_id: int | None = None
    org_id: int = 0
    packed: bytes = b""
    digest: bytes = b""
    trace: TraceContext | None = None
    """The place in a trace from which it comes, or None."""

    def __post_init__(self) -> None:
        # This runs on the caller's thread, because all callers share the writer's time.
        self.packed = body_codec.compress(self.body)
        self.digest = hashlib.sha256(self.body).digest()[:16]


@dataclass(slots=True)
class Receipt:
    """The answer to an event's sender. It is the same for each repetition, but for `duplicate`."""

    event_id: int
    guid: str
    deliveries: int
    duplicate: bool
    filtered: list[int] = field(default_factory=list)
    """The hooks whose filters left the event out."""


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
        minute_counters.increment(db, (arrival.repo_id, (minute_counters.EVENTS,)))
    if fresh:
        db.after_commit(db.notifier.arrived)
        _fan_out(db, fresh)
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
    first = db.one(
        "SELECT id, name, repo_id, digest FROM event WHERE guid = :guid AND scope = :scope",
        guid=arrival.guid,
        scope=arrival.scope,
    )
    assert first is not None
    same = (arrival.name, arrival.repo_id, arrival.digest)
    if (first["name"], first["repo_id"], bytes(first["digest"])) != same:
        return Conflict(f"delivery id {arrival.guid!r} was used for another event")
    count = db.value(
        "SELECT count(*) FROM delivery WHERE event_id = :id AND redelivery = 0"
        f" AND state <> {FILTERED}",
        id=first["id"],
    )
    return Receipt(first["id"], arrival.guid, count, True)


def _fan_out(db: Connection, fresh: Sequence[tuple[Receipt, IncomingEvent]]) -> None:
    notifier = db.notifier
    lease = notifier.lease()
    made = db.tuples(
        "INSERT INTO delivery (event_id, hook_id, repo_id, state, due_at, lease_id)"
        f" SELECT w.event_id, w.hook_id, w.repo_id, CASE WHEN w.hook_id IN {ORDERED}"
        f" THEN {BEHIND} ELSE {WAITING} END, :now, CASE WHEN w.hook_id IN"
        f" (SELECT hook_id FROM {db.each('full', hook_id='integer')} AS f)"
        f" OR w.hook_id IN {WITHHELD} THEN NULL ELSE CAST(:lease AS BIGINT) END"
        f" FROM ({_subscribed(db)}) AS w ORDER BY w.event_id, w.hook_id"
        f" RETURNING id, event_id, hook_id, lease_id, state, repo_id, {filtering.FILTER}",
        now=db.now,
        lease=lease,
        full=json_array(notifier.full()) if lease is not None else "[]",
        events=json_array(
            (receipt.event_id, one.repo_id, one.org_id, one.name, *_every(one.name))
            for receipt, one in fresh
        ),
    )
    by_id = {receipt.event_id: (receipt, arrival) for receipt, arrival in fresh}
    made = _filter(db, by_id, made)
    turns: dict[int, Turn] = {}
    if any(row[4] == BEHIND for row in made):
        made, turns = _place(db, by_id, made)
    _notify_worker(db, by_id, made, turns)


def _place(
    db: Connection,
    fresh: dict[int, tuple[Receipt, IncomingEvent]],
    made: Sequence[tuple[Any, ...]],
) -> tuple[list[tuple[Any, ...]], dict[int, Turn]]:
    """Put the deliveries of ordered hooks in order. Count the ones whose turn comes later.

    Return the others, and the turns of the ordered ones among them.
    """
    ordered = [
        NewDelivery(delivery_id, event_id, hook_id, repo_id, lease_id)
        for delivery_id, event_id, hook_id, lease_id, state, repo_id, _ in made
        if state == BEHIND
    ]
    turns = places.place(db, ordered, lambda event_id: fresh[event_id][1].body)
    now = []
    for row in made:
        if row[4] == BEHIND and row[0] not in turns:
            fresh[row[1]][0].deliveries += 1
        else:
            now.append(row)
    return now, turns


def _filter(
    db: Connection,
    fresh: dict[int, tuple[Receipt, IncomingEvent]],
    made: Sequence[tuple[Any, ...]],
) -> Sequence[tuple[Any, ...]]:
    """Return the deliveries that their hooks' filters do not leave out."""

    def read(event_id: int) -> filtering.Document:
        arrival = fresh[event_id][1]
        return filtering.document(arrival.name, arrival.action, arrival.body)

    kept, left_out = filtering.apply(db, made, read)
    for event_id, hook_id in left_out:
        receipt, arrival = fresh[event_id]
        receipt.filtered.append(hook_id)
        minute_counters.increment(db, (arrival.repo_id, (minute_counters.FILTERED,)))
    return kept


def _subscribed(db: Connection) -> str:
    """Return SQL for the hooks that get each of the :events. These have what `_every` returns."""
    integers = dict.fromkeys(("id", "repo_id", "org_id"), "integer")
    texts = dict.fromkeys(("name", "every", "every_of_repository"), "text")
    arrived = db.each("events", **integers, **texts)
    return (
        f"SELECT e.id AS event_id, s.hook_id, e.repo_id FROM {arrived} AS e"
        " JOIN subscription s ON s.repo_id = e.repo_id AND s.event IN (e.name,"
        " e.every_of_repository) UNION ALL"
        f" SELECT e.id, s.hook_id, e.repo_id FROM {arrived} AS e{WIDER}"
        " AND s.event IN (e.name, e.every)"
        # The database looks at this first, and at no event if there is no such hook.
        " WHERE EXISTS (SELECT 1 FROM owner_subscription)"
    )


def _every(name: str) -> tuple[str, str]:
    """Return the second names under which subscriptions match: `*` for the platform's events.

    The last one is for hooks of repositories, whose `*` means fewer events.
    """
    return (
        WILDCARD if name in PLATFORM_EVENTS else name,
        WILDCARD if name in FITTING["repository"] else name,
    )


def _notify_worker(
    db: Connection,
    fresh: dict[int, tuple[Receipt, IncomingEvent]],
    made: Sequence[tuple[Any, ...]],
    turns: dict[int, Turn],
) -> None:
    """Notify the worker after the commit: dispatch its leased deliveries, wake it for the rest."""
    leased = [row for row in made if row[3] is not None]
    versions = subscribers.versions(db, {row[2] for row in leased}) if leased else {}
    offers: dict[int, LeasedEvent] = {}
    for delivery_id, event_id, hook_id, lease_id, *_ in made:
        receipt, arrival = fresh[event_id]
        receipt.deliveries += 1
        if lease_id is None:
            continue
        offer = offers.get(event_id)
        if offer is None:
            again = arrival.source_id == REPUBLISHED_SOURCE
            offer = offers[event_id] = LeasedEvent(
                lease_id, event_id, arrival.guid, arrival.name, arrival.body, db.now, [], again
            )
            offer.repo_id, offer.trace = arrival.repo_id, arrival.trace
        # If the hook is gone, it has no version, and the worker marks the delivery as dead.
        offer.deliveries.append((delivery_id, hook_id, versions.get(hook_id, 0)))
        if delivery_id in turns:
            offer.turns[delivery_id] = turns[delivery_id]
    notifier = db.notifier
    if offers:
        db.after_commit(lambda: notifier.dispatch([*offers.values()]))
    if len(leased) < len(made):
        _wake(db, {row[2] for row in made if row[3] is None})


def _wake(db: Connection, hook_ids: set[int]) -> None:
    """Notify whoever gets the deliveries that wait in the store: workers, or receivers."""
    notifier, pulled = db.notifier, set(pull_hooks.among(db, hook_ids))
    others = hook_ids - pulled
    if others:
        db.after_commit(lambda: notifier.pushed(others))
    if pulled:
        db.after_commit(lambda: notifier.pulled(pulled))


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
    ids = f"(SELECT id FROM {db.each('ids', id='integer')} AS w)"
    sizes = dict(
        db.tuples(f"SELECT id, size FROM event WHERE id IN {ids}", ids=json_array(event_ids))
    )
    total = 0
    chosen: list[int] = []
    for event_id in event_ids:
        total += sizes.get(event_id, 0)
        if chosen and total > most:
            break
        chosen.append(event_id)
    rows = db.all(
        f"SELECT {COLUMNS}, e.body FROM event e WHERE e.id IN {ids}", ids=json_array(chosen)
    )
    found: dict[int, Row | None] = dict.fromkeys(chosen)
    for row in rows:
        found[row["id"]] = _unpacked(row)
    return found
