"""Lists of a repository's pull requests, by filters."""

from collections.abc import Iterator
from dataclasses import dataclass

from store.database import paging
from store.database.connection import Connection, Row
from store.issues import issue_queries

ORDERS = {
    "created": "i.created_at",
    "updated": "i.updated_at",
    "popularity": "i.comments",
    "long-running": "i.created_at",
}
FROM = "FROM issue i LEFT JOIN pull p ON p.issue_id = i.id"


@dataclass(frozen=True, slots=True)
class PullFilter:
    """Which pull requests of a repository to list, and in which order.

    `head` is a branch with the login of its repository's owner.
    """

    state: str | None = None
    head: tuple[str, str] | None = None
    base: str | None = None
    sort: str = "created"
    ascending: bool = False
    month_ago: int | None = None
    """A time: only pull requests that were created before it and updated since are listed."""

    @property
    def order(self) -> str:
        how = "ASC" if self.ascending else "DESC"
        return f"{ORDERS[self.sort]} {how}, i.id {how}"


def page(db: Connection, repo_id: int, chosen: PullFilter, *, limit: int, offset: int) -> list[Row]:
    """Return a page of the pull requests, as issues."""
    where, given = _where(repo_id, chosen)
    return paging.page(
        db,
        f"SELECT {issue_queries.COLUMNS} {FROM} WHERE {where} ORDER BY {chosen.order}",
        limit,
        offset,
        **given,
    )


def count(db: Connection, repo_id: int, chosen: PullFilter, most: int) -> int:
    """Return how many pull requests there are, counted up to `most`."""
    where, given = _where(repo_id, chosen)
    return paging.count(db, f"SELECT i.id {FROM} WHERE {where}", most, **given)


def _where(repo_id: int, chosen: PullFilter) -> tuple[str, Row]:
    parts = ["i.repo_id = :repo_id", "i.is_pull = 1", "i.deleted_at IS NULL", "i.moved_to IS NULL"]
    given: Row = {"repo_id": repo_id}
    for sql, values in _conditions(chosen):
        parts.append(sql)
        given |= values
    return " AND ".join(parts), given


def _conditions(chosen: PullFilter) -> Iterator[tuple[str, Row]]:
    if chosen.state is not None:
        yield "i.state = :state", {"state": chosen.state}
    if chosen.base is not None:
        yield "p.base_ref = :base", {"base": chosen.base}
    if chosen.month_ago is not None:
        then = {"then": chosen.month_ago}
        yield "i.created_at < :then AND i.updated_at >= :then", then
    if chosen.head is not None:
        owner, branch = chosen.head
        given = {"branch": branch, "owner": owner.lower(), "length": len(owner) + 1}
        yield (
            "p.head_ref = :branch AND lower(substr(p.head_repo, 1, :length)) = :owner || '/'",
            given,
        )
