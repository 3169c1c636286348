"""Stored counts of a repository's branches and tags, because their lists link to the last page."""

from collections import Counter

from store.database import upsert
from store.database.connection import Connection


def add(db: Connection, repo_id: int, changes: Counter[str]) -> None:
    """Add to the counts of a repository. `changes` has the folders, such as `refs/heads`."""
    by_folder = {(repo_id, folder): by for folder, by in changes.items()}
    upsert.count_at_commit(db, "ref_tally", "repo_id, folder", "refs", by_folder)


def total(db: Connection, repo_id: int, folder: str) -> int:
    """Return how many refs are in a folder."""
    found = db.find_value("SELECT refs FROM ref_tally", repo_id=repo_id, folder=folder)
    return found or 0
