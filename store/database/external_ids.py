"""What the API calls a row: the id that a platform gave it, or, for what was made here, its own.

Both are a column `number`, and a repository has each number once in a table.
"""

from collections.abc import Mapping
from typing import Any

from store.database import upsert
from store.database.connection import Connection


def insert_with_own_id(
    db: Connection, table: str, values: Mapping[str, Any], unique: str
) -> int | None:
    """A new row's id, which is its number too; `values` has its `repo_id`. None where there is one
    already whose `unique` columns are the same.
    """
    while True:
        made = upsert.insert_if_absent(db, table, values, unique)
        if made is None or _numbered(db, table, values["repo_id"], made):
            return made
        # A platform's row of this repository is called so: the next id, then.
        db.execute(f"DELETE FROM {table} WHERE id = :id", id=made)


def _numbered(db: Connection, table: str, repo_id: int, row_id: int) -> bool:
    done = db.execute(
        f"UPDATE {table} SET number = id WHERE id = :id AND NOT EXISTS"
        f" (SELECT 1 FROM {table} o WHERE o.repo_id = :repo_id AND o.number = :id)",
        id=row_id,
        repo_id=repo_id,
    )
    return done > 0
