"""The numbers of a repository's issues. Operations and the platform can give the same one."""

from typing import Any

from store.clock import SECOND
from store.database import payload_reader
from store.database.connection import Connection


def following(db: Connection, repo_id: int) -> int:
    """Return the next free number. Until this transaction ends, no other operation gets it."""
    db.alone(f"issue numbers of {repo_id}")
    newest = db.value("SELECT max(number) FROM issue WHERE repo_id = :repo_id", repo_id=repo_id)
    return (newest or 0) + 1


def make_room(db: Connection, repo_id: int, given: dict[str, Any]) -> None:
    """Let a platform's issue in a payload have its number.

    If an issue that was made here has the number, that one gets the next free number.
    """
    number = payload_reader.read_field(given, "number", payload_reader.number)
    created_at = payload_reader.read_field(given, "created_at", payload_reader.timestamp)
    if number is None or created_at is None:
        return
    row = db.one(
        "SELECT id, created_at FROM issue WHERE repo_id = :repo_id AND number = :number"
        f" AND made_here = 1{db.for_update}",
        repo_id=repo_id,
        number=number,
    )
    if row is not None and row["created_at"] // SECOND != created_at // SECOND:
        db.update("issue", row["id"], number=following(db, repo_id), updated_at=db.now)
