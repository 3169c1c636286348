"""The members of a platform's events, as the latest stored payloads have them.

The platform decides what its events contain, so no schema of them is complete.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from hub.ui.catalog.examples import MOST_READ
from hub.ui.view_context import ViewContext
from store import Row
from store.delivery import events
from store.delivery.incoming import EXAMPLE_SOURCES
from store.delivery.listing import event_page
from store.delivery.listing.event_page import EventFilter

# Payloads that are read, and members that are shown.
READ, MOST_SHOWN = 5, 150
# The kinds of elements are named for so many lists in one another.
MOST_NESTED = 3
KINDS = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    list: "list",
}


@dataclass(slots=True)
class SeenMember:
    """A member of payloads: `issue`, or `issue.title` for a member of a member."""

    name: str
    many: int = 0
    """How many of the payloads have it."""
    kinds: dict[str, None] = field(default_factory=dict)
    """The types of its values, in the order in which they were seen."""


@dataclass(frozen=True, slots=True)
class SeenMembers:
    """The members of some payloads, up to MOST_SHOWN of them."""

    payloads: int
    members: list[SeenMember]
    left_out: int
    newest: Row | None
    """The newest event with such a payload."""


def seen_members(ctx: ViewContext, name: str) -> SeenMembers:
    """Return the members of the latest payloads of an event that the viewer may see."""
    wanted = EventFilter(name=name, repo_ids=ctx.repositories())
    rows, _ = event_page.page(ctx.db, wanted, READ)
    ids = [
        row["id"]
        for row in rows
        if row["source_id"] not in EXAMPLE_SOURCES and row["size"] <= MOST_READ
    ]
    read = events.get_many(ctx.db, ids, READ * MOST_READ).values()
    stored = [(row, payload) for row in read if (payload := _object(row)) is not None]
    found: dict[str, SeenMember] = {}
    for _, payload in stored:
        for path, value in _members(payload):
            member = found.setdefault(path, SeenMember(path))
            member.many += 1
            member.kinds[_kind(value)] = None
    every = sorted(found.values(), key=lambda one: one.name)
    return SeenMembers(
        len(stored),
        every[:MOST_SHOWN],
        max(len(every) - MOST_SHOWN, 0),
        stored[0][0] if stored else None,
    )


def _object(event: Row | None) -> dict[str, Any] | None:
    """Return the payload of an event. If it is deleted, or no JSON object, return None."""
    try:
        payload = orjson.loads((event and event["body"]) or b"null")
    except orjson.JSONDecodeError:
        return None
    return payload if isinstance(payload, dict) else None


def _members(payload: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in payload.items():
        yield name, value
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", one) for inner, one in value.items())


def _kind(value: Any, depth: int = 0) -> str:
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list) and depth < MOST_NESTED:
        inner = dict.fromkeys(_kind(one, depth + 1) for one in value)
        return f"list of {' or '.join(inner)}" if inner else "list"
    return KINDS[type(value)]
