"""Sources of snapshots: a kind of object in repositories, read in a fixed order.

Each repository's objects are read by an indexed key, so that reading can continue anywhere.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from store.database.connection import Connection, Row
from store.database.patterns import escape

Key = int | str
LOWEST_NUMBER, LOWEST_TEXT = -1, ""


def _as_it_is(row: Row) -> Row:
    return row


@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """A kind of object.

    `columns` and `source` are the parts of its SELECT, `repo` is the column of the repository's id,
    and `key` is the expression for the order.
    """

    name: str
    event: str
    """The name of its event, which is the last part of its topic."""
    columns: str
    source: str
    repo: str
    key: str
    changed: str
    """The SQL expression of its last change."""
    lowest: Key = LOWEST_NUMBER
    where: str = ""
    opened: Callable[[Row], Row] = _as_it_is

    @property
    def condition(self) -> str:
        """Return the SQL condition for existing objects, after an AND."""
        return f" AND {self.where}" if self.where else ""


def page(db: Connection, one: SnapshotSource, repo_id: int, after: Key, limit: int) -> list[Row]:
    """Return a repository's objects after the key `after`, with `key_` and `changed_`.

    They are locked against changes until the transaction ends.
    """
    sql = (
        f"SELECT {one.columns}, {one.key} AS key_, {one.changed} AS changed_ FROM {one.source}"
        f" WHERE {one.repo} = :repo_id AND {one.key} > :after{one.condition}"
        f" ORDER BY {one.key} LIMIT :limit{db.for_share}"
    )
    rows = db.all(sql, repo_id=repo_id, after=after, limit=limit)
    return [one.opened(row) for row in rows]


def repositories_with(
    db: Connection, one: SnapshotSource, owner: str, repo: str, first: int, limit: int
) -> list[int]:
    """Return the ids of matching repositories that have any objects, from the id `first` on."""
    sql = (
        f"SELECT g.id {MATCHING_REPOSITORIES} AND g.id >= :first"
        f" AND EXISTS (SELECT 1 FROM {one.source} WHERE {one.repo} = g.id{one.condition})"
        " ORDER BY g.id LIMIT :limit"
    )
    return db.column(sql, first=first, limit=limit, **_patterns(owner, repo))


def count(
    db: Connection, kinds: Iterable[SnapshotSource], owner: str, repo: str, since: int | None
) -> dict[str, int]:
    """Return how many objects each source has in repositories that match the patterns.

    With `since`, only objects that changed since then count.
    """
    given = _patterns(owner, repo) | {"since": since}
    found = {}
    for one in kinds:
        later = "" if since is None else f" AND {one.changed} >= :since"
        sql = (
            f"SELECT count(*) FROM {one.source}"
            f" WHERE {one.repo} IN (SELECT g.id {MATCHING_REPOSITORIES}){one.condition}{later}"
        )
        found[one.name] = db.value(sql, **given)
    return found


MATCHING_REPOSITORIES = (
    "FROM repository g JOIN account o ON o.id = g.owner_id"
    " WHERE o.login_key LIKE :owner ESCAPE '!' AND g.name_key LIKE :repo ESCAPE '!'"
)
"""SQL for: the repositories that match two patterns."""


def _patterns(owner: str, repo: str) -> dict[str, Any]:
    return {"owner": _like(owner), "repo": _like(repo)}


def _like(pattern: str) -> str:
    """Convert a pattern with `*` into a pattern for LIKE."""
    return escape(pattern).lower().replace("*", "%")
