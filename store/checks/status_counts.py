"""Stored counts of a commit's contexts by the state of their newest status.

The combined status has their total.
"""

from collections import Counter

from store.database import upsert
from store.database.connection import Connection, Row


def add(db: Connection, status: Row) -> None:
    """Count a status that was added. It counts if it is the newest of its context.

    Until the transaction ends, no other one may add a status to the commit.
    """
    latest = db.tuples(
        "SELECT id, state FROM commit_status WHERE repo_id = :repo_id AND sha = :sha"
        " AND context_key = :context_key ORDER BY created_at DESC, id DESC LIMIT 2",
        repo_id=status["repo_id"],
        sha=status["sha"],
        context_key=status["context_key"],
    )
    (newest_id, state), *others = latest
    if newest_id != status["id"]:
        return
    changes = Counter([state])
    changes.subtract(former for _, former in others)
    by_state = {(status["repo_id"], status["sha"], one): by for one, by in changes.items()}
    upsert.add_counts(db, "commit_status_tally", "repo_id, sha, state", "contexts", by_state)


def states(db: Connection, repo_id: int, sha: str) -> dict[str, int]:
    """Return how many contexts of a commit have each state."""
    return db.mapping(
        "SELECT state, contexts FROM commit_status_tally"
        " WHERE repo_id = :repo_id AND sha = :sha AND contexts > 0",
        repo_id=repo_id,
        sha=sha,
    )
