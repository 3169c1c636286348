"""The numbers of a repository's issues and milestones. Operations and platforms can give the same.

An operation takes the next free number. A platform's issue or milestone keeps its own.
"""

from typing import Any, Literal

from store.clock import SECOND
from store.database import payload_reader
from store.database.connection import Connection
from store.repositories import deletions

Numbered = Literal["issue", "milestone"]
"""A table whose rows have a number in their repository."""


def following(db: Connection, repo_id: int, table: Numbered = "issue") -> int:
    """Return the next free number. Until this transaction ends, no other operation gets it."""
    db.alone(f"{table} numbers of {repo_id}")
    newest = db.value(f"SELECT max(number) FROM {table} WHERE repo_id = :repo_id", repo_id=repo_id)
    return max(newest or 0, deletions.highest(db, repo_id, _retired(table))) + 1


def retire(db: Connection, repo_id: int, number: int, table: Numbered) -> None:
    """Record that a row with this number is deleted. No operation gives the number again."""
    deletions.put(db, repo_id, _retired(table), number, db.now)


def _retired(table: Numbered) -> str:
    return f"{table} number"


def make_room(
    db: Connection, repo_id: int, given: dict[str, Any], table: Numbered = "issue"
) -> None:
    """Let a platform's row in a payload have its number.

    If a row that was made here has the number, that one gets the next free number.
    """
    number = payload_reader.read_field(given, "number", payload_reader.number)
    created_at = payload_reader.read_field(given, "created_at", payload_reader.timestamp)
    if number is None or created_at is None:
        return
    row = db.one(
        f"SELECT id, created_at FROM {table} WHERE repo_id = :repo_id AND number = :number"
        f" AND made_here = 1{db.for_update}",
        repo_id=repo_id,
        number=number,
    )
    if row is not None and row["created_at"] // SECOND != created_at // SECOND:
        db.update(table, row["id"], number=following(db, repo_id, table), updated_at=db.now)
