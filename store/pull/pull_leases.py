"""Leases of pull hooks: a consumer's claim on one delivery, until it answers or the lease expires.

A leased delivery has minus the lease's id as its `lease_id`. So the record of its attempt is fenced
like the record of a worker's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from store.database.connection import Connection, Row, json_array
from store.errors import Conflict
from store.ordering.delivery_states import WAITING

Result = Literal["acked", "nacked", "lapsed"]
# The lease of deliveries that this transaction ends without an attempt.
ENDING = 0
FETCHED = "id, event_id, repo_id, attempts, redelivery, throttled, ordering_key"


@dataclass(frozen=True, slots=True)
class NewLease:
    """A lease to write: the delivery, and the head of the request as it is handed out."""

    delivery_id: int
    request_head: str


def due(db: Connection, hook_id: int, limit: int) -> list[Row]:
    """Return due deliveries of a hook, the earliest first, locked until the transaction ends."""
    return db.all(
        f"SELECT {FETCHED} FROM delivery WHERE hook_id = :hook_id AND state = {WAITING}"
        " AND lease_id IS NULL AND due_at <= :now ORDER BY due_at, id"
        f" LIMIT :limit{db.skip_locked}",
        hook_id=hook_id,
        limit=limit,
    )


def next_due(db: Connection, hook_id: int) -> int | None:
    """Return when the hook's next delivery that is not leased is due, or None."""
    return db.optional_number(
        "SELECT min(d.due_at) FROM delivery d"
        f" WHERE d.hook_id = :hook_id AND d.state = {WAITING} AND d.lease_id IS NULL",
        hook_id=hook_id,
    )


def next_expiry_of(db: Connection, hook_id: int) -> int | None:
    """Return when the hook's next open lease expires, which may be in the past, or None."""
    return db.optional_number(
        "SELECT min(l.expires_at) FROM pull_lease l"
        " WHERE l.hook_id = :hook_id AND l.ended_at IS NULL",
        hook_id=hook_id,
    )


def held(db: Connection, hook_id: int) -> int:
    return db.number(
        "SELECT count(*) FROM pull_lease WHERE hook_id = :hook_id AND ended_at IS NULL",
        hook_id=hook_id,
    )


def acquire(
    db: Connection, hook_id: int, consumer: str, leases: Sequence[NewLease], expires_at: int
) -> list[int]:
    """Lease these deliveries to a consumer. Return the ids of the leases, in the same order."""
    made = db.insert_many(
        "pull_lease",
        "hook_id, delivery_id, consumer, started_at, expires_at, request_head",
        [
            (hook_id, one.delivery_id, consumer, db.now, expires_at, one.request_head)
            for one in leases
        ],
        "RETURNING delivery_id, id",
    )
    by_delivery: dict[int, int] = dict(made)
    _set_leases(db, {delivery_id: -lease_id for delivery_id, lease_id in by_delivery.items()})
    return [by_delivery[one.delivery_id] for one in leases]


def withdraw(db: Connection, delivery_ids: Iterable[int]) -> None:
    """Put deliveries under the lease ENDING, for `deliveries.mark_dead`."""
    _set_leases(db, dict.fromkeys(delivery_ids, ENDING))


def _set_leases(db: Connection, leases: dict[int, int]) -> None:
    db.execute(
        f"UPDATE delivery SET lease_id = r.lease_id FROM"
        f" {db.each('rows', id='integer', lease_id='integer')} AS r WHERE delivery.id = r.id",
        rows=json_array(sorted(leases.items())),
    )


def lock(db: Connection, hook_id: int, lease_ids: Iterable[int]) -> list[Row]:
    """Return these leases of the hook, locked until the transaction ends.

    Leases that are not known are left out.
    """
    return db.all(
        "SELECT id, delivery_id, consumer, expires_at, ended_at, result FROM pull_lease"
        f" WHERE hook_id = :hook_id AND id {db.among('ids')}"
        f" ORDER BY id{db.for_update}",
        hook_id=hook_id,
        ids=json_array(lease_ids),
    )


def open_ones(
    db: Connection, hook_id: int, lease_ids: Iterable[int], result: Result | None = None
) -> list[int]:
    """Return which of these leases are open, locked. The others must have ended with `result`.

    Raises StaleLeases, with the ids, if leases are unknown, or ended in another way.
    """
    wanted = sorted(set(lease_ids))
    found = {row["id"]: row for row in lock(db, hook_id, wanted)}
    stale = [
        lease_id
        for lease_id in wanted
        if lease_id not in found
        or (found[lease_id]["ended_at"] is not None and found[lease_id]["result"] != result)
    ]
    if stale:
        raise StaleLeases(stale)
    return [lease_id for lease_id in wanted if found[lease_id]["ended_at"] is None]


class StaleLeases(Conflict):
    """Leases are unknown, have lapsed, or their deliveries were answered in another way."""

    def __init__(self, lease_ids: Sequence[int]) -> None:
        shown = ", ".join(map(str, lease_ids[:20]))
        more = f" and {len(lease_ids) - 20} more" if len(lease_ids) > 20 else ""
        super().__init__(f"stale leases: {shown}{more}")
        self.lease_ids = list(lease_ids)


def expired(db: Connection, hook_id: int, limit: int) -> list[int]:
    """Return the hook's open leases that have expired, locked until the transaction ends."""
    return db.column(
        "SELECT id FROM pull_lease WHERE hook_id = :hook_id AND ended_at IS NULL"
        f" AND expires_at <= :now ORDER BY id LIMIT :limit{db.skip_locked}",
        hook_id=hook_id,
        limit=limit,
    )


def hooks_with_expired(db: Connection, limit: int) -> list[int]:
    """Return hooks that have open leases that have expired."""
    return db.column(
        "SELECT DISTINCT f.hook_id FROM (SELECT hook_id FROM pull_lease WHERE ended_at IS NULL"
        " AND expires_at <= :now ORDER BY expires_at LIMIT :limit) AS f ORDER BY f.hook_id",
        limit=limit,
    )


def leased(db: Connection, lease_ids: Iterable[int]) -> list[Row]:
    """Return open leases with their deliveries, and the time at which each event was received."""
    return db.all(
        "SELECT l.id, l.delivery_id, l.consumer, l.started_at, l.request_head, d.event_id,"
        " d.repo_id, d.attempts, d.redelivery, d.throttled, d.ordering_key, e.received_at"
        f" FROM {db.each('ids', id='integer')} AS w JOIN pull_lease l ON l.id = w.id"
        " JOIN delivery d ON d.id = l.delivery_id JOIN event e ON e.id = d.event_id ORDER BY l.id",
        ids=json_array(lease_ids),
    )


def end(db: Connection, lease_ids: Iterable[int], result: Result) -> None:
    """End these leases. Their deliveries are recorded in the same transaction."""
    db.execute(
        "UPDATE pull_lease SET ended_at = :now, result = :result, request_head = ''"
        f" WHERE id {db.among('ids')}",
        ids=json_array(lease_ids),
        result=result,
    )


def extend(db: Connection, lease_ids: Iterable[int], expires_at: int) -> None:
    """Let these leases expire at another time."""
    db.execute(
        f"UPDATE pull_lease SET expires_at = :expires_at WHERE id {db.among('ids')}",
        ids=json_array(lease_ids),
        expires_at=expires_at,
    )


def next_expiry(db: Connection) -> int | None:
    """Return when the next open lease expires, which may be in the past, or None."""
    return db.optional_number(
        "SELECT expires_at FROM pull_lease WHERE ended_at IS NULL ORDER BY expires_at LIMIT 1"
    )


def drop_ended(db: Connection, before: int, limit: int) -> int:
    """Delete leases that ended before a time. Return their number."""
    ids = db.column(
        "SELECT id FROM pull_lease WHERE ended_at < :before ORDER BY ended_at LIMIT :limit",
        before=before,
        limit=limit,
    )
    return db.delete_many("pull_lease", "id", ids)
