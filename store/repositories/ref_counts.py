"""Stored counts of a repository's branches and tags, because their lists link to the last page."""

from collections import Counter

from store.database.connection import Connection

BRANCHES, TAGS = "refs/heads/", "refs/tags/"
# The number of characters at the start of a name that tell a branch from a tag. An index has them.
FOLDER = 10


def add(db: Connection, repo_id: int, changes: Counter[str]) -> None:
    """Add to the counts of a repository. `changes` has the first FOLDER characters of names."""
    db.insert_many(
        "ref_tally",
        "repo_id, folder, refs",
        [(repo_id, *change) for change in sorted(changes.items()) if change[1]],
        "ON CONFLICT (repo_id, folder) DO UPDATE SET refs = ref_tally.refs + excluded.refs",
    )


def total(db: Connection, repo_id: int, prefix: str) -> int:
    """Return how many refs there are. `prefix` is BRANCHES or TAGS."""
    found = db.find_value("SELECT refs FROM ref_tally", repo_id=repo_id, folder=prefix[:FOLDER])
    return found or 0
