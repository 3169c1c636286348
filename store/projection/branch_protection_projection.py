"""Projection of the rules that protect branches."""

from typing import Any

from store.database import payload_reader
from store.database.connection import Connection, Row
from store.projection.repository_projection import is_trusted
from store.repositories import branch_protection

NAME = payload_reader.text(255, least=1)


def changed(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Record the pattern of a branch_protection_rule event, or its removal.

    Rules are settings, so the event needs a source that signs.
    """
    rule = payload_reader.read_part(payload, "rule")
    pattern = payload_reader.read_field(rule, "name", NAME)
    if pattern is None or not is_trusted(event):
        return
    changes = payload_reader.read_part(payload, "changes")
    former = payload_reader.read_part(changes, "name")
    before = payload_reader.read_field(former, "from", NAME)
    if before is not None:
        branch_protection.remove(db, repo["id"], before)
    if event["action"] == "deleted":
        branch_protection.remove(db, repo["id"], pattern)
    else:
        branch_protection.put(db, repo["id"], pattern)
