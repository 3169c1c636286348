"""The platform's comments, labels, milestones and rules that were deleted.

Older payloads do not bring them back. A platform's deletion is final. If an operation deleted
one of them, a later payload restores it.
"""

from collections.abc import Mapping
from typing import Any

from store.clock import LATEST
from store.database import upsert
from store.database.connection import Connection, Row

UNIQUE = "repo_id, kind, number"
KEY = "repo_id = :repo_id AND kind = :kind AND number = :number"
FINAL = LATEST
"""In place of the time, if the platform deleted it."""


def put(db: Connection, repo_id: int, kind: str, number: int, deleted_at: int) -> None:
    """Record a deletion: by an operation at this time, or FINAL."""
    values = {"repo_id": repo_id, "kind": kind, "number": number, "deleted_at": deleted_at}
    upsert.insert_or_replace(db, "deletion", values, UNIQUE)


def find(db: Connection, repo_id: int, kind: str, number: int) -> int | None:
    """Return the time of a deletion, or None."""
    return db.optional_number(
        f"SELECT deleted_at FROM deletion WHERE {KEY}",
        repo_id=repo_id,
        kind=kind,
        number=number,
    )


def highest(db: Connection, repo_id: int, kind: str) -> int:
    """Return the highest number that was deleted, or 0."""
    return db.number(
        "SELECT coalesce(max(number), 0) FROM deletion WHERE repo_id = :repo_id AND kind = :kind",
        repo_id=repo_id,
        kind=kind,
    )


def hides(deleted_at: int | None, fields: Mapping[str, Any], event: Row) -> bool:
    """Return whether a deletion is later than the state that an event reports.

    `fields` are the columns of the object in the payload.
    """
    return deleted_at is not None and upsert.moment_of(fields, event) < deleted_at


def put_reported(db: Connection, repo_id: int, kind: str, fields: Mapping[str, Any]) -> None:
    """Record that the platform deleted the object in a payload, if it has an id."""
    if "foreign_id" in fields:
        put(db, repo_id, kind, fields["foreign_id"], FINAL)


def put_own(db: Connection, kind: str, row: Row) -> None:
    """Record that an operation deletes a row now, if it has a platform's id."""
    if row["foreign_id"] is not None:
        put(db, row["repo_id"], kind, row["foreign_id"], db.now)


def is_gone(db: Connection, repo_id: int, kind: str, fields: Mapping[str, Any], event: Row) -> bool:
    """Return whether the object in a payload was deleted after the state that an event reports."""
    number = fields.get("foreign_id")
    return number is not None and hides(find(db, repo_id, kind, number), fields, event)


def forget(db: Connection, repo_id: int, kind: str, number: int) -> None:
    """Forget a deletion, because the comment is there again."""
    db.execute(f"DELETE FROM deletion WHERE {KEY}", repo_id=repo_id, kind=kind, number=number)
