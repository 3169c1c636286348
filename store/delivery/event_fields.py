"""The fields of an event that readers get beside its body.

Listings need them, and not the modules that accept events.
"""

from typing import Any

from store.database.connection import Connection

COLUMNS = (
    "e.id, e.guid, e.scope, e.repo_id, e.org_id, e.source_id, e.token_id, e.name, e.action,"
    " e.installation_id, e.received_at, e.size, e.traceparent, e.tracestate"
)


def lacks_repository(body: bytes) -> bool:
    """Return whether a payload has no member `repository`.

    One that is further inside counts, because a search takes less time than parsing every payload.
    """
    return b'"repository"' not in body


def own_repository(db: Connection, repo_id: int, body: bytes | None) -> dict[str, Any]:
    """Return `id` and `full_name` of an event's repository if the payload has none, or else {}."""
    if not repo_id or body is None or not lacks_repository(body):
        return {}
    found = db.one(
        "SELECT r.id, a.login || '/' || r.name AS full_name"
        " FROM repository r JOIN account a ON a.id = r.owner_id WHERE r.id = :id",
        id=repo_id,
    )
    return found or {}
