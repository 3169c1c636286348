"""The public id of a row: the platform's id, or the row's own id if it was made here.

Both are stored in the column `number`, which is unique in a repository and table.
"""

from collections.abc import Mapping
from typing import Any

from store.database import upsert
from store.database.connection import Connection


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
        db.execute(f"DELETE FROM {table} WHERE id = :id", id=made)


def _numbered(db: Connection, table: str, repo_id: int, row_id: int) -> bool:
    done = db.execute(
        f"UPDATE {table} SET number = id WHERE id = :id AND NOT EXISTS"
        f" (SELECT 1 FROM {table} o WHERE o.repo_id = :repo_id AND o.number = :id)",
        id=row_id,
        repo_id=repo_id,
    )
    return done > 0
