"""The descriptions of commits by events: by pushes, and by check suites."""

from collections.abc import Iterable, Set

from store.database.connection import Connection, json_array


def find(db: Connection, repo_id: int, sha: str) -> str | None:
    """Return the description of a commit in the form of `head_commits.read`; None without one.

    A push describes the newest commit of a branch or tag, until the next push.
    """
    return of(db, repo_id, {sha}).get(sha)


def of(db: Connection, repo_id: int, shas: Set[str]) -> dict[str, str]:
    """Return commit to its description. Unknown ones are left out."""
    found = _pushed(db, repo_id, shas)
    rest = shas - found.keys()
    return found | _of_suites(db, repo_id, rest) if rest else found


def _pushed(db: Connection, repo_id: int, shas: Iterable[str]) -> dict[str, str]:
    return db.mapping(
        f"SELECT r.sha, r.head FROM {db.each('shas', wanted='text')} AS w JOIN ref r"
        " ON r.repo_id = :repo_id AND r.sha = w.wanted WHERE r.head IS NOT NULL",
        repo_id=repo_id,
        shas=json_array(shas),
    )


def _of_suites(db: Connection, repo_id: int, shas: Iterable[str]) -> dict[str, str]:
    rows = db.tuples(
        "SELECT w.wanted, (SELECT s.head_commit FROM check_suite s WHERE s.repo_id = :repo_id"
        " AND s.head_sha = w.wanted AND s.head_commit IS NOT NULL ORDER BY s.number LIMIT 1)"
        f" FROM {db.each('shas', wanted='text')} AS w",
        repo_id=repo_id,
        shas=json_array(shas),
    )
    return {sha: head for sha, head in rows if head is not None}
