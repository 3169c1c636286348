"""Rejected requests: events of known senders that ingest refused, kept for people to see why."""

from store.database import paging
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


def page(
    db: Connection, *, limit: int = 100, before: int | None = None, guid: str | None = None
) -> list[Row]:
    """Return the latest rejected requests, newest first. `guid` limits them to one delivery id."""
    where, given = paging.conditions({"id < :before": before, "guid = :guid": guid})
    return db.all(
        "SELECT id, at, path, address, sender, event, guid, size, reason FROM refusal"
        f" WHERE {where} ORDER BY id DESC LIMIT :limit",
        limit=limit,
        **given,
    )
