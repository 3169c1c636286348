"""The patterns of branch names that a platform protects, as its events report them."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property, partial
from operator import eq

from store.database import upsert
from store.database.connection import Connection, Row

Matches = Callable[[str], bool]
SPECIAL = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class BranchPattern:
    """A pattern of branch names. It is compiled when a name begins as it does."""

    text: str

    @cached_property
    def prefix(self) -> str:
        """The characters with which all matching names begin."""
        # In `a/**`, the slash need not be there.
        return SPECIAL.split(self.text, maxsplit=1)[0].removesuffix("/")

    @cached_property
    def parts(self) -> list[Matches | None]:
        """A test for each part between slashes, or None for any number of parts."""
        return [None if part == "**" else _matcher(part) for part in self.text.split("/")]

    def matches(self, branch: str) -> bool:
        if not branch.startswith(self.prefix):
            return False
        names = branch.split("/")
        places = {0}
        for part in self.parts:
            if part is None:
                places = {*range(min(places), len(names) + 1)}
            else:
                places = {at + 1 for at in places if at < len(names) and part(names[at])}
            if not places:
                return False
        return len(names) in places


def patterns(db: Connection, repo_id: int) -> list[BranchPattern]:
    """Return a repository's patterns, in their order."""
    found = db.column(
        "SELECT pattern FROM protected_branch WHERE repo_id = :repo_id ORDER BY pattern",
        repo_id=repo_id,
    )
    return [BranchPattern(one) for one in found]


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


def protects(found: Iterable[BranchPattern], branch: str) -> bool:
    """Return whether one of the patterns matches a branch's name.

    `*` matches within one part of a name between slashes, and `**` any number of parts.
    """
    return any(pattern.matches(branch) for pattern in found)


def _matcher(part: str) -> Matches:
    if not SPECIAL.search(part):
        return partial(eq, part)
    matches = re.compile(translate(part)).match
    return lambda name: matches(name) is not None
