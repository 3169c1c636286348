"""Stored counts of a commit's contexts by the state of their newest status.

The combined status has their total.
"""

from store.database.connection import Connection, Row

_NEWEST = (
    "SELECT n.id, n.repo_id, n.sha, n.state FROM commit_status n WHERE n.repo_id = :repo_id"
    " AND n.sha = :sha AND n.context_key = :context_key ORDER BY n.created_at DESC, n.id DESC"
)
_CHANGE = "sum(CASE WHEN l.id = :id THEN 1 ELSE -1 END)"
# The status before the newest one does not count any more.
ADD = (
    "INSERT INTO commit_status_tally (repo_id, sha, state, contexts)"
    f" SELECT l.repo_id, l.sha, l.state, {_CHANGE} FROM ({_NEWEST} LIMIT 2) AS l"
    f" WHERE :id = (SELECT f.id FROM ({_NEWEST} LIMIT 1) AS f)"
    f" GROUP BY l.repo_id, l.sha, l.state HAVING {_CHANGE} <> 0"
    " ON CONFLICT (repo_id, sha, state)"
    " DO UPDATE SET contexts = commit_status_tally.contexts + excluded.contexts"
)


def add(db: Connection, status: Row) -> None:
    """Count a status that was added. It counts if it is the newest of its context.

    Until the transaction ends, no other one may add a status to the commit.
    """
    db.execute(
        ADD,
        id=status["id"],
        repo_id=status["repo_id"],
        sha=status["sha"],
        context_key=status["context_key"],
    )


def states(db: Connection, repo_id: int, sha: str) -> dict[str, int]:
    """Return how many contexts of a commit have each state."""
    return db.mapping(
        "SELECT state, contexts FROM commit_status_tally"
        " WHERE repo_id = :repo_id AND sha = :sha AND contexts > 0",
        repo_id=repo_id,
        sha=sha,
    )
