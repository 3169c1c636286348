"""The public id of a row: the platform's id, or the row's own id if it was made here.

Both are stored in the column `number`, which is unique in a repository and table.
"""

from collections.abc import Mapping
from typing import Any

from store.clock import SECOND
from store.database import payload_reader, upsert
from store.database.connection import Connection, Row

ABOVE = 2**50
"""It is above the ids of platforms, and JavaScript can read the sum of it and an id."""


def insert_with_own_id(
    db: Connection, table: str, values: Mapping[str, Any], unique: str
) -> int | None:
    """Insert a row whose number is its own id. Return the id.

    `values` includes `repo_id`. Return None if a row with the same `unique` columns exists.
    """
    while True:
        made = upsert.insert_if_absent(db, table, values, unique)
        if made is None or _numbered(db, table, values["repo_id"], made):
            return made
        # A platform's row in this repository has this number already, so take the next id.
        db.delete(table, id=made)


def _numbered(db: Connection, table: str, repo_id: int, row_id: int) -> bool:
    done = db.execute(
        f"UPDATE {table} SET number = id WHERE id = :id AND NOT EXISTS"
        f" (SELECT 1 FROM {table} o WHERE o.repo_id = :repo_id AND o.number = :id)",
        id=row_id,
        repo_id=repo_id,
    )
    return done > 0


def make_room(db: Connection, table: str, row: Row | None, given: Mapping[str, Any]) -> None:
    """Let a platform's object in a payload have its id, which `row` may have.

    If the row was made here at another time, it gets an id that no platform gives.
    """
    created_at = payload_reader.read_field(given, "created_at", payload_reader.timestamp)
    if row is None or not row["made_here"] or created_at is None:
        return
    if row["created_at"] // SECOND != created_at // SECOND:
        db.execute(
            f"UPDATE {table} SET number = id + :above, updated_at = :now WHERE id = :id",
            above=ABOVE,
            id=row["id"],
        )
