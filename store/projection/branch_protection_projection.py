"""Projection of the rules that protect branches."""

from typing import Any

from store.database import payload_reader
from store.database.connection import Connection, Row
from store.delivery import sources
from store.repositories import branch_protection, deletions

KIND = "rule"
NAME = payload_reader.text(255, least=1)
RULE: payload_reader.Readers = {
    "foreign_id": ("id", payload_reader.number),
    "reported_at": ("updated_at", payload_reader.timestamp),
}


def changed(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Record the pattern of a branch_protection_rule event, or its removal.

    Rules are settings, so the event needs a source that signs.
    """
    given = payload_reader.read_part(payload, "rule")
    pattern = payload_reader.read_field(given, "name", NAME)
    rule = payload_reader.read_fields(given, RULE)
    if pattern is None or not sources.is_signed(event):
        return
    gone = deletions.is_gone(db, repo["id"], KIND, rule, event)
    if gone or branch_protection.is_outdated(db, repo["id"], rule):
        return
    changes = payload_reader.read_part(payload, "changes")
    former = payload_reader.read_part(changes, "name")
    before = payload_reader.read_field(former, "from", NAME)
    branch_protection.remove(db, repo["id"], before or pattern, rule)
    if event["action"] == "deleted":
        deletions.put_reported(db, repo["id"], KIND, rule)
    else:
        branch_protection.report(db, repo["id"], pattern, rule)
