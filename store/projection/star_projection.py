"""Projection of stars."""

from typing import Any

from store.database import payload_reader
from store.database.connection import Connection, Row
from store.delivery import sources
from store.projection import repository_projection
from store.repositories import stars


def starred(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Record the star in a star event, or its removal. The event's sender has given it."""
    if event["sender_id"] is None:
        return
    given = payload_reader.read_field(payload, "starred_at", payload_reader.timestamp)
    at = None if event["action"] == "deleted" else given or event["received_at"]
    stars.put(db, repo["id"], event["sender_id"], at, _reported_at(db, payload, event))


def _reported_at(db: Connection, payload: dict[str, Any], event: Row) -> int | None:
    """Return the time of the repository in the payload, which changes with its stars.

    An unsigned time may be invented.
    """
    if not sources.is_signed(event):
        return None
    return repository_projection.reported_at(db, payload_reader.read_part(payload, "repository"))
