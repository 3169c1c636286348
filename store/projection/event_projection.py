"""Projecting events: their payloads are parsed, and then change the state in their order."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from store.database import body_codec
from store.database.connection import Connection, Row
from store.projection import projection_cursor, projection_table


@dataclass(slots=True)
class PendingEvent:
    """An event with its payload, or None if that is not a JSON object. `error` is the reason why it
    cannot be projected, if that is known already.
    """

    event: Row
    payload: dict[str, Any] | None
    error: Exception | None = None


def parsed(events: Sequence[Row]) -> list[PendingEvent]:
    """Decompress and parse the bodies. Call this outside of transactions, which others wait for."""
    return [_item(event) for event in events]


def _item(event: Row) -> PendingEvent:
    payload = _payload(bytes(event.pop("body")))
    prepare = projection_table.PREPARED.get(event["name"])
    try:
        if payload is not None and prepare is not None:
            prepare(payload)
    except Exception as error:
        return PendingEvent(event, None, error)
    return PendingEvent(event, payload)


def _payload(packed: bytes) -> dict[str, Any] | None:
    try:
        found = orjson.loads(body_codec.decompress(packed))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def advance(
    db: Connection, after: int, items: Sequence[PendingEvent], upto: int, seconds: float = 0.0
) -> int:
    """Project events and move the cursor from `after` to the last one. Return how many.

    After all events, the cursor moves to `upto`. After `seconds`, stop early (0: never). Raises
    CursorMoved, or the error of an event.
    """
    ends = time.monotonic() + seconds
    done = 0
    for item in items:
        if item.error is not None:
            raise item.error
        if item.payload is not None:
            projection_table.project(db, dict(item.event), item.payload)
        done += 1
        if seconds and time.monotonic() >= ends:
            break
    projection_cursor.move(db, after, upto if done == len(items) else items[done - 1].event["id"])
    return done
