"""Leases: a worker's claim on the deliveries that it is working on.

A delivery stores the id of its lease. A worker renews its lease regularly. When a lease has ended,
other workers may claim its deliveries. If the first worker returns late, it finds another lease id
on them.
"""

from store.clock import MINUTE
from store.database.connection import Connection
from store.database.id_search import each_value

# The largest timeout that a hook may have (`hook_options`).
LONGEST_ATTEMPT = 2 * MINUTE


def acquire(db: Connection, holder: str, lifetime: int) -> int:
    """Create a lease for `holder` that expires after `lifetime` microseconds. Return its id."""
    return db.number(
        "INSERT INTO lease (holder, expires_at, seen_at) VALUES (:holder, :expires_at, :now)"
        " RETURNING id",
        holder=holder,
        expires_at=db.now + lifetime,
    )


def renew(db: Connection, lease_id: int, lifetime: int, lag: int = 0) -> bool:
    """Renew a lease and record how far its holder lags behind, in microseconds.

    Return False if the lease has been ended: another worker may hold its deliveries now. A lease
    that has expired can be renewed until another worker ends it, so a slow worker keeps its
    deliveries.
    """
    return db.update("lease", lease_id, expires_at=db.now + lifetime, seen_at=db.now, lag=lag) > 0


def live(db: Connection) -> int:
    return db.number("SELECT count(*) FROM lease WHERE expires_at > :now")


def delivery_ids(db: Connection, lease_id: int) -> list[int]:
    return db.column("SELECT id FROM delivery WHERE lease_id = :id", id=lease_id)


def release(db: Connection, lease_id: int) -> int:
    """Delete a lease and release its deliveries. Return how many were released."""
    db.delete("lease", id=lease_id)
    return _free(db, lease_id)


def _free(db: Connection, lease_id: int) -> int:
    return db.execute("UPDATE delivery SET lease_id = NULL WHERE lease_id = :id", id=lease_id)


def release_expired(db: Connection) -> int:
    """End the expired leases. Return how many deliveries that releases."""
    # The lease is deleted first. A concurrent renewal either comes before, and keeps all
    # deliveries, or finds that the lease has ended.
    expired = db.column("DELETE FROM lease WHERE expires_at <= :now RETURNING id")
    ended = {*expired, *_ended(db)}
    for lease_id in sorted(ended):
        _delay_ordered(db, lease_id)
    return _free_all(db, ended)


def _delay_ordered(db: Connection, lease_id: int) -> None:
    """Let the ordered deliveries under a lease wait until its holder's last attempt has ended.

    The holder may still live, and two attempts of one key must not overlap.
    """
    db.execute(
        "UPDATE delivery SET in_flight_until = :until,"
        " due_at = CASE WHEN due_at < :until THEN :until ELSE due_at END"
        " WHERE lease_id = :id AND ordering_key IS NOT NULL",
        id=lease_id,
        until=db.now + LONGEST_ATTEMPT,
    )


def release_others(db: Connection, lease_id: int) -> int:
    """End every lease but this one. Return how many deliveries that releases.

    The lease's holder must be the only possible worker.
    """
    others = db.column("DELETE FROM lease WHERE id <> :id RETURNING id", id=lease_id)
    return _free_all(db, {*others, *_ended(db)})


def _free_all(db: Connection, lease_ids: set[int]) -> int:
    return sum(_free(db, lease_id) for lease_id in sorted(lease_ids))


def _ended(db: Connection) -> set[int]:
    """Return the ids of ended leases that deliveries still have.

    A worker that did not know yet that its lease had ended claimed them. The query steps through
    the index from lease to lease. Leases of pull hooks are below 0 and end in another way.
    """
    rows = db.column(
        f"{each_value('delivery', 'lease_id', above=0)}"
        " SELECT w.lease_id FROM w WHERE w.lease_id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM lease l WHERE l.id = w.lease_id)"
    )
    return set(rows)
