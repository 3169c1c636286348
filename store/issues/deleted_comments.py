"""The platform's comments that were deleted. Older payloads do not bring them back.

A platform's deletion is final. If an operation deleted a comment, a later payload restores it.
"""

from collections.abc import Mapping
from typing import Any

from store.clock import LATEST
from store.database import upsert
from store.database.connection import Connection, Row

UNIQUE = "repo_id, kind, number"
KEY = "repo_id = :repo_id AND kind = :kind AND number = :number"
FINAL = LATEST
"""In place of the time, if the platform deleted the comment."""


def put(db: Connection, repo_id: int, kind: str, number: int, deleted_at: int) -> None:
    """Record that a comment was deleted: by an operation at this time, or FINAL."""
    values = {"repo_id": repo_id, "kind": kind, "number": number, "deleted_at": deleted_at}
    upsert.insert_or_replace(db, "deleted_comment", values, UNIQUE)


def find(db: Connection, repo_id: int, kind: str, number: int) -> int | None:
    """Return when a comment was deleted, or None."""
    deleted_at: int | None = db.value(
        f"SELECT deleted_at FROM deleted_comment WHERE {KEY}",
        repo_id=repo_id,
        kind=kind,
        number=number,
    )
    return deleted_at


def hides(deleted_at: int | None, fields: Mapping[str, Any], event: Row) -> bool:
    """Return whether a deletion is later than the state that an event reports.

    `fields` are the columns of the comment in the payload.
    """
    return deleted_at is not None and upsert.moment_of(fields, event) < deleted_at


def forget(db: Connection, repo_id: int, kind: str, number: int) -> None:
    """Forget a deletion, because the comment is there again."""
    db.execute(
        f"DELETE FROM deleted_comment WHERE {KEY}", repo_id=repo_id, kind=kind, number=number
    )
