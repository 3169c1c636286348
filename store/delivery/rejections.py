"""Rejected requests: events of known senders that ingest refused, kept for people to see why."""

from store.database.connection import Connection, Row

KEPT = 1_000


def add(
    db: Connection,
    *,
    path: str,
    reason: str,
    address: str | None = None,
    sender: str | None = None,
    event: str | None = None,
    guid: str | None = None,
    size: int | None = None,
) -> None:
    """Record a rejected request. Only the latest 1,000 are kept. `size` is in bytes."""
    made = db.value(
        "INSERT INTO refusal (at, path, address, sender, event, guid, size, reason)"
        " VALUES (:now, :path, :address, :sender, :event, :guid, :size, :reason) RETURNING id",
        path=path,
        address=address,
        sender=sender,
        event=event,
        guid=guid,
        size=size,
        reason=reason,
    )
    db.execute("DELETE FROM refusal WHERE id <= :oldest", oldest=made - KEPT)


def page(db: Connection, *, limit: int = 100) -> list[Row]:
    """Return the latest rejected requests, newest first."""
    return db.all(
        "SELECT id, at, path, address, sender, event, guid, size, reason FROM refusal"
        " ORDER BY id DESC LIMIT :limit",
        limit=limit,
    )
