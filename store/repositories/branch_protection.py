"""The patterns of branch names that a platform protects, as its events report them."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache

from store.database import upsert
from store.database.connection import Connection, Row


def patterns(db: Connection, repo_id: int) -> list[str]:
    """Return a repository's patterns, in their order."""
    return db.column(
        "SELECT pattern FROM protected_branch WHERE repo_id = :repo_id ORDER BY pattern",
        repo_id=repo_id,
    )


def put(db: Connection, repo_id: int, pattern: str) -> bool:
    """Protect the branches that match a pattern. Return False if they are protected already."""
    added = db.execute(
        "INSERT INTO protected_branch (repo_id, pattern) VALUES (:repo_id, :pattern)"
        " ON CONFLICT DO NOTHING",
        repo_id=repo_id,
        pattern=pattern,
    )
    return added > 0


def report(db: Connection, repo_id: int, pattern: str, rule: Row) -> None:
    """Protect the branches that match a pattern of the platform's rule.

    `rule` has its `foreign_id` and `reported_at`, as far as they are known.
    """
    values = {"repo_id": repo_id, "pattern": pattern, "foreign_id": None, **rule}
    upsert.insert_or_replace(db, "protected_branch", values, "repo_id, pattern")


def is_outdated(db: Connection, repo_id: int, rule: Row) -> bool:
    """Return whether a report of a rule is older than the stored one of the same rule."""
    known = db.one(
        "SELECT max(reported_at) AS reported_at FROM protected_branch"
        " WHERE repo_id = :repo_id AND foreign_id = :foreign_id",
        repo_id=repo_id,
        foreign_id=rule.get("foreign_id"),
    )
    return upsert.is_outdated(known, rule)


def remove(db: Connection, repo_id: int, pattern: str, rule: Row) -> None:
    """Remove the platform's rule, also under another pattern that it had.

    If the pattern is another rule's now, that one stays.
    """
    db.execute(
        "DELETE FROM protected_branch WHERE repo_id = :repo_id AND (foreign_id = :foreign_id"
        " OR (pattern = :pattern AND coalesce(foreign_id = :foreign_id, 1 = 1)))",
        repo_id=repo_id,
        pattern=pattern,
        foreign_id=rule.get("foreign_id"),
    )


def protects(found: Iterable[str], branch: str) -> bool:
    """Return whether one of the patterns matches a branch's name.

    `*` matches within one part of a name between slashes, and `**` any number of parts.
    """
    parts = branch.split("/")
    return any(_matches(pattern.split("/"), parts) for pattern in found)


def _matches(pattern: list[str], parts: list[str]) -> bool:
    @cache
    def rest_matches(at: int, place: int) -> bool:
        if at == len(pattern):
            return place == len(parts)
        if pattern[at] == "**":
            return any(rest_matches(at + 1, end) for end in range(place, len(parts) + 1))
        if place == len(parts) or not fnmatchcase(parts[place], pattern[at]):
            return False
        return rest_matches(at + 1, place + 1)

    return rest_matches(0, 0)
