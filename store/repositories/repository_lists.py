"""Lists of repositories by owner, and by the accounts that belong to them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from store.accounts.viewers import RepositoryViewer, may_see
from store.database import paging
from store.database.connection import ENDLESS, Connection, Row, json_array
from store.repositories import repositories

AFFILIATIONS = {
    "owner": "r.owner_id = :who",
    "collaborator": "EXISTS (SELECT 1 FROM collaborator c"
    " WHERE c.repo_id = r.id AND c.account_id = :who)",
    "organization_member": "EXISTS (SELECT 1 FROM membership m"
    " WHERE m.organization_id = r.owner_id AND m.account_id = :who)",
}
"""SQL for each way in which the account `who` belongs to a repository."""

SORTS = {
    "created": ("r.created_at", "r.id"),
    "updated": ("r.updated_at", "r.id"),
    "pushed": ("coalesce(r.pushed_at, 0)", "r.id"),
    "full_name": ("a.login_key", "r.name_key"),
}


@dataclass(frozen=True, slots=True)
class RepositorySelection:
    """The repositories that a viewer may see and that pass all filters. None does not filter.

    `among` are the only ids that pass. `who` is an account that belongs to them in one of the
    ways `affiliations`. They were updated after `since` and before `before`, in microseconds.
    """

    viewer: RepositoryViewer
    owner_id: int | None = None
    among: Collection[int] | None = None
    who: int | None = None
    affiliations: Collection[str] = tuple(AFFILIATIONS)
    private: bool | None = None
    fork: bool | None = None
    since: int | None = None
    before: int | None = None


def page(
    db: Connection,
    chosen: RepositorySelection,
    *,
    sort: str,
    descending: bool,
    limit: int,
    offset: int,
) -> list[Row]:
    """Return a page of the selected repositories. `sort` is one of SORTS."""
    where, given = _where(db, chosen)
    direction = "DESC" if descending else "ASC"
    order = ", ".join(f"{column} {direction}" for column in SORTS[sort])
    return paging.page(
        db, f"{repositories.SELECT} WHERE {where} ORDER BY {order}", limit, offset, **given
    )


def count(db: Connection, chosen: RepositorySelection, most: int = ENDLESS) -> int:
    """Return how many repositories `page` can return, counted up to `most`."""
    where, given = _where(db, chosen)
    return paging.count(
        db,
        f"SELECT 1 AS one FROM repository r JOIN account a ON a.id = r.owner_id WHERE {where}",
        most,
        **given,
    )


def _where(db: Connection, chosen: RepositorySelection) -> tuple[str, dict[str, Any]]:
    shown, given = may_see(db, chosen.viewer)
    wanted = {
        "owner_id": ("r.owner_id = :owner_id", chosen.owner_id),
        "private": ("r.private = :private", _flag(chosen.private)),
        "fork": ("r.fork = :fork", _flag(chosen.fork)),
        "since": ("r.updated_at > :since", chosen.since),
        "before": ("r.updated_at < :before", chosen.before),
    }
    parts = [shown, *(sql for sql, value in wanted.values() if value is not None)]
    given |= {name: value for name, (_, value) in wanted.items() if value is not None}
    if chosen.among is not None:
        parts.append(f"r.id IN (SELECT m.id FROM {db.each('among', id='integer')} AS m)")
        given["among"] = json_array(chosen.among)
    if chosen.who is not None:
        parts.append(f"({' OR '.join(AFFILIATIONS[name] for name in chosen.affiliations)})")
        given["who"] = chosen.who
    return " AND ".join(parts), given


def _flag(value: bool | None) -> int | None:
    return None if value is None else int(value)
