"""The descriptions of commits by events: by pushes, and by check suites."""

from collections.abc import Iterable

from store.database.connection import Connection, json_array


def find(db: Connection, repo_id: int, sha: str) -> str | None:
    """Return the description of a commit in the form of `head_commits.read`; None without one.

    A push describes the newest commit of a branch or tag, until the next push.
    """
    head = pushed(db, repo_id, [sha]).get(sha)
    if head is not None:
        return head
    suite = db.one(
        "SELECT head_commit FROM check_suite WHERE repo_id = :repo_id AND head_sha = :sha"
        " AND head_commit IS NOT NULL ORDER BY number LIMIT 1",
        repo_id=repo_id,
        sha=sha,
    )
    return None if suite is None else str(suite["head_commit"])


def pushed(db: Connection, repo_id: int, shas: Iterable[str]) -> dict[str, str]:
    """Return commit to its description by a push, in its stored form. Unknown ones are left out."""
    rows = db.tuples(
        f"SELECT r.sha, r.head FROM {db.each('shas', wanted='text')} AS w JOIN ref r"
        " ON r.repo_id = :repo_id AND r.sha = w.wanted WHERE r.head IS NOT NULL",
        repo_id=repo_id,
        shas=json_array(set(shas)),
    )
    return dict(rows)
