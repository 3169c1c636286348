"""Leases: a worker's claim on the deliveries it has in hand.

A delivery carries the id of the lease it is under. The lease lives while its worker says so; when
it has ended, others may take the deliveries, and whoever comes back late finds that they carry
another id.
"""

from store.database.connection import Connection


def acquire(db: Connection, holder: str, lifetime: int) -> int:
    """A new lease for `holder`, good for `lifetime` microseconds."""
    made: int = db.value(
        "INSERT INTO lease (holder, expires_at, seen_at) VALUES (:holder, :expires_at, :now)"
        " RETURNING id",
        holder=holder,
        now=db.now,
        expires_at=db.now + lifetime,
    )
    return made


def renew(db: Connection, lease_id: int, lifetime: int, lag: int = 0) -> bool:
    """Prolong a lease, and say how far its holder is behind, in microseconds; False if it has
    been ended, and whatever was under it may be another's now.

    A lease whose time is over is its holder's until somebody ends it: a worker that was slow goes
    on with what it has in hand.
    """
    return (
        db.execute(
            "UPDATE lease SET expires_at = :expires_at, seen_at = :now, lag = :lag WHERE id = :id",
            expires_at=db.now + lifetime,
            lag=lag,
            id=lease_id,
            now=db.now,
        )
        > 0
    )


def any_live(db: Connection) -> bool:
    """Whether any worker has a lease that has not ended."""
    found = db.value("SELECT 1 FROM lease WHERE expires_at > :now LIMIT 1", now=db.now)
    return found is not None


def delivery_ids(db: Connection, lease_id: int) -> list[int]:
    """The deliveries under a lease."""
    return [
        row[0] for row in db.tuples("SELECT id FROM delivery WHERE lease_id = :id", id=lease_id)
    ]


def release(db: Connection, lease_id: int) -> int:
    """Give back a lease and every delivery still under it; returns how many those are."""
    db.execute("DELETE FROM lease WHERE id = :id", id=lease_id)
    return _free(db, lease_id)


def _free(db: Connection, lease_id: int) -> int:
    return db.execute("UPDATE delivery SET lease_id = NULL WHERE lease_id = :id", id=lease_id)


def release_expired(db: Connection) -> int:
    """End the leases whose time is over; returns how many deliveries that frees."""
    # The row goes first: whoever prolongs the lease at this moment either comes before, and keeps
    # all of it, or finds that it has ended.
    expired = db.tuples("DELETE FROM lease WHERE expires_at <= :now RETURNING id", now=db.now)
    return _free_all(db, {row[0] for row in expired} | _ended(db))


def release_others(db: Connection, lease_id: int) -> int:
    """End every lease but this one, where its holder is the only worker there can be."""
    others = db.tuples("DELETE FROM lease WHERE id <> :id RETURNING id", id=lease_id)
    return _free_all(db, {row[0] for row in others} | _ended(db))


def _free_all(db: Connection, lease_ids: set[int]) -> int:
    return sum(_free(db, lease_id) for lease_id in sorted(lease_ids))


def _ended(db: Connection) -> set[int]:
    """Leases that deliveries carry though they have ended: taken by a worker that had not heard
    of it yet. Steps through the index from lease to lease.
    """
    rows = db.tuples(
        "WITH RECURSIVE w (lease_id) AS ("
        " SELECT min(x.lease_id) FROM delivery x WHERE x.lease_id IS NOT NULL"
        " UNION ALL SELECT (SELECT min(x.lease_id) FROM delivery x"
        " WHERE x.lease_id > w.lease_id) FROM w WHERE w.lease_id IS NOT NULL)"
        " SELECT w.lease_id FROM w WHERE w.lease_id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM lease l WHERE l.id = w.lease_id)"
    )
    return {row[0] for row in rows}
