"""Imports for people to browse."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from store.database import paging
from store.database.connection import Connection, Row, json_array
from store.database.list_order import Matches, SortOrder, matches_of
from store.database.patterns import containing
from store.imports.imports import AT_WORK, NEEDS_ATTENTION

# Without the user name and password for the source.
COLUMNS = (
    "i.repo_id, i.vcs_url, i.vcs, i.project, i.status, i.step, i.due_at, i.failed_step,"
    " i.error_message, i.commit_count, i.authors_count, i.import_percent, i.push_percent,"
    " i.large_files_count, i.created_at, i.updated_at"
)
NAME = "a.login || '/' || r.name"
SOURCE = (
    " FROM source_import i"
    " JOIN repository r ON r.id = i.repo_id JOIN account a ON a.id = r.owner_id"
)
STATES = {
    "under way": AT_WORK,
    "needs attention": NEEDS_ATTENTION,
    "complete": ("complete",),
}
ORDERS = {
    "repository": (f"lower({NAME})",),
    "state": ("i.status",),
    "commits": ("COALESCE(i.commit_count, -1)",),
    "authors": ("COALESCE(i.authors_count, -1)",),
    "changed": ("i.updated_at",),
}
NEWEST_FIRST = SortOrder("changed", descending=True)


@dataclass(frozen=True, slots=True)
class ImportFilter:
    """A filter for imports. `repo_ids` None means all. `state` is a key of STATES.

    `host` is a part of the source's host, `since` and `until` limit the time of the last change.
    """

    repo_ids: Sequence[int] | None = None
    state: str = ""
    host: str = ""
    since: int | None = None
    until: int | None = None

    def sql(self, db: Connection) -> tuple[str, dict[str, Any]]:
        """Return what follows FROM, and its parameters."""
        where = ["1 = 1"]
        given: dict[str, Any] = {}
        if self.state in STATES:
            names = ", ".join(f"'{name}'" for name in STATES[self.state])
            where.append(f"i.status IN ({names})")
        if self.since is not None:
            where.append("i.updated_at >= :since")
            given["since"] = self.since
        if self.until is not None:
            where.append("i.updated_at < :until")
            given["until"] = self.until
        if self.host:
            # The user name and password before an @ are not searched.
            where.append(
                "(lower(i.vcs_url) LIKE :after_user ESCAPE '!' OR (i.vcs_url NOT LIKE '%@%'"
                " AND lower(i.vcs_url) LIKE :part ESCAPE '!'))"
            )
            part = containing(self.host)
            given |= {"part": part, "after_user": f"%@{part}"}
        if self.repo_ids is not None:
            where.append(f"i.repo_id {db.among('repos')}")
            given["repos"] = json_array(self.repo_ids)
        return f"{SOURCE} WHERE {' AND '.join(where)}", given


def page(
    db: Connection,
    wanted: ImportFilter,
    *,
    limit: int,
    order: SortOrder = NEWEST_FIRST,
    skip: int = 0,
) -> list[Row]:
    """Return a page of imports, `skip` of them left out."""
    source, given = wanted.sql(db)
    query = (
        f"SELECT {COLUMNS}, {NAME} AS repository{source}"
        f" ORDER BY {order.sql(ORDERS, 'i.repo_id DESC')}"
    )
    return paging.page(db, query, limit, skip, **given)


def count(db: Connection, wanted: ImportFilter) -> Matches:
    """Return the number of matching imports, up to MOST."""
    source, given = wanted.sql(db)
    return matches_of(db, f"SELECT i.repo_id{source}", **given)
