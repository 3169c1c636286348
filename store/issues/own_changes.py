"""The parts of issues that operations of the API changed.

A platform's payload replaces them if it reports a later state. An older payload changes only the
other parts: an operation may run before an event that was accepted earlier becomes state.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from store.database import upsert
from store.database.connection import Connection, Row

Part = tuple[str, int]
"""The name of a part, and the id of its label, account or field. The id is 0 for other parts."""

PARTS = {
    "title": "title",
    "body": "body",
    **dict.fromkeys(("state", "state_reason", "closed_at", "closed_by_id"), "state"),
    "milestone_id": "milestone",
    **dict.fromkeys(("locked", "lock_reason"), "lock"),
}
"""Column to part."""


@dataclass(frozen=True, slots=True)
class OwnChanges:
    """The parts of an issue that operations changed after the state in a payload."""

    parts: Collection[Part] = ()
    updated_at: int = 0
    """The time of the last update if it is later than the payload, or 0."""
    over: bool = False
    """Whether the payload is later than all changes by operations."""

    def has(self, part: str) -> bool:
        return (part, 0) in self.parts

    def items(self, part: str) -> set[int]:
        """Return the ids of the labels, accounts or fields."""
        return {item for name, item in self.parts if name == part}

    def merged(self, fields: Mapping[str, Any]) -> Row:
        """Return the columns that a payload changes: all others stay."""
        found = {name: value for name, value in fields.items() if not self.has(PARTS.get(name, ""))}
        if "updated_at" in found:
            found["updated_at"] = max(found["updated_at"], self.updated_at)
        return found | {"changed_at": None} if self.over else found


def record(db: Connection, issue: Row, columns: Iterable[str], items: Iterable[Part] = ()) -> None:
    """Record that an operation changes columns and items of an issue now."""
    parts = {(PARTS[name], 0) for name in columns if name in PARTS} | {*items}
    if parts:
        db.insert_many(
            "issue_own_change",
            "issue_id, part, item, changed_at",
            [(issue["id"], part, item, db.now) for part, item in sorted(parts)],
            "ON CONFLICT (issue_id, part, item) DO UPDATE SET changed_at = excluded.changed_at",
        )


def after(db: Connection, issue: Row | None, fields: Mapping[str, Any], event: Row) -> OwnChanges:
    """Return what operations changed in an issue after the state that an event reports.

    `fields` are the columns of the issue in the payload.
    """
    if issue is None or not upsert.is_overtaken(issue, fields, event):
        return OwnChanges()
    rows = db.tuples(
        "SELECT part, item FROM issue_own_change WHERE issue_id = :id AND changed_at > :moment",
        id=issue["id"],
        moment=upsert.moment_of(fields, event),
    )
    return OwnChanges({(part, item) for part, item in rows}, issue["updated_at"])


def settle(db: Connection, issue: Row | None, fields: Mapping[str, Any], event: Row) -> OwnChanges:
    """Return what `after` returns, for a payload that changes the issue.

    If the payload is later than all changes by operations, forget them.
    """
    if issue is None or issue["changed_at"] is None:
        return OwnChanges()
    own = after(db, issue, fields, event)
    if own.updated_at or "reported_at" not in fields:
        return own
    db.delete("issue_own_change", issue_id=issue["id"])
    return OwnChanges(over=True)
