"""Stored numbers of an owner's repositories, because some lists of repositories have their total.

Private repositories are counted apart from the others. A repository keeps its owner.
"""

import re
from collections.abc import Mapping
from typing import Any

from store.database import upsert
from store.database.connection import Connection

KNOWN = {"owner_id", "private"}
"""The columns of a repository that the rows of numbers have too."""
COLUMN = re.compile(r"\br\.(\w+)")


def add(db: Connection, changes: Mapping[tuple[int, int], int]) -> None:
    """Add to the numbers. `changes` has the owners, each with whether repositories are private."""
    upsert.count_at_commit(db, "repository_tally", "owner_id, private", "repositories", changes)


def set_private(db: Connection, repo_id: int, private: bool) -> None:
    """Set whether a repository is private, and count it as that."""
    owners = db.column(
        "UPDATE repository SET private = :private WHERE id = :id AND private <> :private"
        " RETURNING owner_id",
        private=int(private),
        id=repo_id,
    )
    for owner_id in owners:
        add(db, {(owner_id, int(private)): 1, (owner_id, int(not private)): -1})


def total(db: Connection, where: str, given: Mapping[str, Any]) -> int | None:
    """Return how many repositories `r` meet a condition. Its owner is the account `a`.

    Return None if they need to be counted, because the condition has other columns than KNOWN, or
    because this transaction has changed the numbers.
    """
    if not KNOWN.issuperset(COLUMN.findall(where)) or upsert.uncommitted(db, "repository_tally"):
        return None
    return db.number(
        "SELECT CAST(coalesce(sum(r.repositories), 0) AS BIGINT)"
        f" FROM repository_tally r JOIN account a ON a.id = r.owner_id WHERE {where}",
        **given,
    )
