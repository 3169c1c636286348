"""Projection of secret scanning alerts: they are counted for their patterns."""

from typing import Any

from store.database import payload_reader, upsert
from store.database.connection import Connection, Row
from store.delivery import sources
from store.errors import Invalid
from store.secret_scanning import secret_patterns

READERS: payload_reader.Readers = {
    "number": payload_reader.number,
    "token_type": ("secret_type", payload_reader.text(255, 1)),
    "bypassed": ("push_protection_bypassed", payload_reader.flag),
    "resolution": payload_reader.nullable(payload_reader.text(255)),
    "reported_at": ("updated_at", payload_reader.timestamp),
}
COLUMNS = "repo_id, number, token_type, false_positive, bypassed, reported_at"


def record(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Count the alert in an event, once, for the organization that owns the repository.

    Only a source that signs makes a pattern known, which is the organization's.
    """
    reported = payload_reader.read_part(payload, "alert")
    fields = payload_reader.read_fields(reported, READERS)
    if repo["owner_kind"] != "Organization" or not {"number", "token_type"} <= fields.keys():
        return
    before = _get(db, repo["id"], fields["number"])
    if upsert.is_outdated(before, fields):
        return
    after = _alert(repo, before, fields)
    pattern = _pattern(db, repo["owner_id"], after["token_type"])
    if pattern is None and sources.is_signed(event):
        pattern = _add_pattern(db, repo["owner_id"], after["token_type"], reported)
    if pattern is None:
        return
    upsert.insert_or_replace(db, "secret_alert", after, "repo_id, number")
    changes = _counted(after, 1) if before is None else _counted(after, 0, before)
    counts = {name: max(0, pattern[name] + change) for name, change in changes.items()}
    given = {"token_type": pattern["token_type"], **counts}
    secret_patterns.put_reported(db, repo["owner_id"], given)


def _get(db: Connection, repo_id: int, number: int) -> Row | None:
    return db.find(f"SELECT {COLUMNS} FROM secret_alert", repo_id=repo_id, number=number)


def _alert(repo: Row, before: Row | None, fields: dict[str, Any]) -> Row:
    kept: Row = before or {"false_positive": 0, "bypassed": 0, "reported_at": None}
    found = {
        "repo_id": repo["id"],
        "number": fields["number"],
        # An alert keeps its pattern.
        "token_type": kept.get("token_type", fields["token_type"]),
        "false_positive": kept["false_positive"],
        "bypassed": fields.get("bypassed", kept["bypassed"]),
        "reported_at": fields.get("reported_at", kept["reported_at"]),
    }
    if "resolution" in fields:
        found["false_positive"] = int(fields["resolution"] == "false_positive")
    return found


def _counted(after: Row, alerts: int, before: Row | None = None) -> dict[str, int]:
    """Return the change of the pattern's counts. Each bypass was a block before."""
    were = before or {"false_positive": 0, "bypassed": 0}
    bypasses = after["bypassed"] - were["bypassed"]
    return {
        "alerts": alerts,
        "false_positives": after["false_positive"] - were["false_positive"],
        "blocks": bypasses,
        "bypasses": bypasses,
    }


def _pattern(db: Connection, organization_id: int, named: str) -> Row | None:
    """Return the organization's pattern with this token type or slug, or None."""
    names = (named, named.upper())
    rows = secret_patterns.list_all(db, organization_id)
    found = (row for row in rows if row["token_type"] in names or row["slug"] == named)
    return next(found, None)


def _add_pattern(
    db: Connection, organization_id: int, named: str, reported: dict[str, Any]
) -> Row | None:
    """Add an unknown pattern as a provider's. Return None if there are too many."""
    shown = (
        payload_reader.read_field(reported, "secret_type_display_name", payload_reader.text(255, 1))
        or named
    )
    given = {"token_type": named.upper(), "slug": named, "display_name": shown}
    try:
        secret_patterns.put_reported(db, organization_id, given)
    except Invalid:
        return None
    return _pattern(db, organization_id, named)
