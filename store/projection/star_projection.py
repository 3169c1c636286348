"""Projection of stars."""

from typing import Any

from store.database import payload_reader
from store.database.connection import Connection, Row
from store.repositories import stars


def starred(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Record the star in a star event, or its removal. The event's sender has given it."""
    if event["sender_id"] is None:
        return
    if event["action"] == "deleted":
        stars.remove(db, repo["id"], event["sender_id"])
    else:
        given = payload_reader.read_field(payload, "starred_at", payload_reader.timestamp)
        stars.put(db, repo["id"], event["sender_id"], given or event["received_at"])
