"""Leases: a worker's claim on the deliveries it has in hand.

A delivery carries the id of the lease it is under. The lease lives while its worker says so; when
it has ended, others may take the deliveries, and whoever comes back late finds that they carry
another id.
"""

from store.connection import Connection


def take(db: Connection, holder: str, lifetime: int) -> int:
    """A new lease for `holder`, good for `lifetime` microseconds."""
    made: int = db.value(
        "INSERT INTO lease (holder, expires_at) VALUES (:holder, :expires_at) RETURNING id",
        holder=holder,
        expires_at=db.now + lifetime,
    )
    return made


def renew(db: Connection, lease_id: int, lifetime: int) -> bool:
    """Prolong a lease; False if it has ended, and whatever was under it may be another's now."""
    return (
        db.execute(
            "UPDATE lease SET expires_at = :expires_at WHERE id = :id AND expires_at > :now",
            expires_at=db.now + lifetime,
            id=lease_id,
            now=db.now,
        )
        > 0
    )


def end(db: Connection, lease_id: int) -> int:
    """Give back a lease and every delivery still under it; returns how many those are."""
    freed = db.execute("UPDATE delivery SET lease_id = NULL WHERE lease_id = :id", id=lease_id)
    db.execute("DELETE FROM lease WHERE id = :id", id=lease_id)
    return freed


def end_expired(db: Connection) -> int:
    """End the leases whose time is over; returns how many deliveries that frees."""
    expired = db.all("SELECT id FROM lease WHERE expires_at <= :now", now=db.now)
    return sum(end(db, row["id"]) for row in expired)


def end_others(db: Connection, lease_id: int) -> int:
    """End every lease but this one, where its holder is the only worker there can be."""
    others = db.all("SELECT id FROM lease WHERE id <> :id", id=lease_id)
    return sum(end(db, row["id"]) for row in others)
