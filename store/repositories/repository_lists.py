"""Lists of repositories by owner, and by the accounts that belong to them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from store.accounts.administrators import AUTHORIZED
from store.accounts.viewers import RepositoryViewer, may_see
from store.database import paging
from store.database.connection import ENDLESS, Connection, Row, json_array
from store.repositories import repositories, repository_counts

OWNERS = {
    "owner": "SELECT a.id FROM account a WHERE a.id = :who",
    "organization_member": "SELECT m.organization_id AS id FROM membership m"
    " WHERE m.account_id = :who",
}
"""The way in which the account `who` belongs to repositories, to SQL for their owners."""

KNOWN = (
    " AND (m.public = 1 OR m.account_id = :known_to OR m.organization_id IN"
    " (SELECT k.organization_id FROM membership k JOIN account o ON o.id = k.organization_id"
    f" WHERE k.account_id = :known_to AND {AUTHORIZED}{{}}))"
)
"""SQL for the memberships that the account `known_to` knows, with a limit to one organization."""

AFFILIATIONS = ("owner", "collaborator", "organization_member")
"""The ways in which an account belongs to a repository."""

FROM = "FROM repository r JOIN account a ON a.id = r.owner_id"
SORTS = {
    "created": ("r.created_at", "r.id"),
    "updated": ("r.updated_at", "r.id"),
    "pushed": ("coalesce(r.pushed_at, 0)", "r.id"),
    "full_name": ("a.login_key", "r.name_key"),
}


@dataclass(frozen=True, slots=True)
class RepositoryFilter:
    """The repositories that a viewer may see and that pass all filters. None does not filter.

    `among` are the only ids that pass. `who` is an account that belongs to them in one of the
    ways `affiliations`. The account `known_to` knows public memberships, its own, and those in its
    organizations for which the viewer's token is valid. If it is given, no others count. They were
    updated after `since` and before `before`, in microseconds.
    """

    viewer: RepositoryViewer
    owner_id: int | None = None
    among: Collection[int] | None = None
    who: int | None = None
    known_to: int | None = None
    affiliations: Collection[str] = AFFILIATIONS
    private: bool | None = None
    fork: bool | None = None
    since: int | None = None
    before: int | None = None


def page(
    db: Connection,
    chosen: RepositoryFilter,
    *,
    sort: str,
    descending: bool,
    limit: int,
    offset: int,
) -> list[Row]:
    """Return a page of the selected repositories. `sort` is one of SORTS."""
    where, given = _where(db, chosen)
    direction = "DESC" if descending else "ASC"
    order = f"ORDER BY {', '.join(f'{column} {direction}' for column in SORTS[sort])}"
    if chosen.who is not None:
        # A page has at most these first repositories of each owner.
        first = f"{where} {order} LIMIT :upto"
        where = f"r.id IN (SELECT b.id FROM ({_belonging(db, chosen, where, first)}) AS b)"
        given["upto"] = limit + offset
    return paging.page(db, f"{repositories.SELECT} WHERE {where} {order}", limit, offset, **given)


def count(db: Connection, chosen: RepositoryFilter, most: int = ENDLESS) -> int:
    """Return how many repositories `page` can return, counted up to `most`."""
    where, given = _where(db, chosen)
    if chosen.who is None:
        total = repository_counts.total(db, where, given)
        if total is not None:
            return min(total, most)
    query = f"SELECT r.id {FROM} WHERE {where}"
    if chosen.who is not None:
        query = f"SELECT DISTINCT b.id FROM ({_belonging(db, chosen, where)}) AS b"
    return paging.count(db, query, most, **given)


def _belonging(
    db: Connection, chosen: RepositoryFilter, where: str, first: str | None = None
) -> str:
    """Return SQL for the ids of the repositories to which an account belongs, some more than once.

    `where` is what they must meet. With `first`, which has an order and a limit too, no more are
    selected of each owner's.
    """
    parts = []
    within = "" if chosen.viewer.target_id is None else " AND o.id = :target_id"
    known = {} if chosen.known_to is None else {"organization_member": KNOWN.format(within)}
    owners = [OWNERS[one] + known.get(one, "") for one in chosen.affiliations if one in OWNERS]
    if owners:
        of_each = f"SELECT r.id {FROM} WHERE r.owner_id = o.id AND {first}"
        parts.append(
            f"SELECT r.id {FROM} WHERE r.owner_id IN ({' UNION '.join(owners)}) AND {where}"
            if first is None
            else f"SELECT f.id FROM ({' UNION '.join(owners)}) AS o"
            f" {db.lateral('repository', 'f', of_each)}"
        )
    if "collaborator" in chosen.affiliations:
        parts.append(
            f"SELECT r.id {FROM} WHERE r.id IN"
            f" (SELECT c.repo_id FROM collaborator c WHERE c.account_id = :who) AND {where}"
        )
    return " UNION ALL ".join(parts)


def _where(db: Connection, chosen: RepositoryFilter) -> tuple[str, dict[str, Any]]:
    """Return the conditions beside the account's affiliations, and the parameters."""
    shown, given = may_see(db, chosen.viewer, chosen.owner_id)
    among = None if chosen.among is None else json_array(chosen.among)
    where, more = paging.conditions(
        {
            shown: True,
            "r.owner_id = :owner_id": chosen.owner_id,
            "r.private = :private": _flag(chosen.private),
            "r.fork = :fork": _flag(chosen.fork),
            "r.updated_at > :since": chosen.since,
            "r.updated_at < :before": chosen.before,
            f"r.id {db.among('among')}": among,
        }
    )
    given |= more
    if chosen.who is not None:
        given["who"] = chosen.who
        if chosen.known_to is not None and "organization_member" in chosen.affiliations:
            viewer = chosen.viewer
            given |= {"known_to": chosen.known_to, "token_id": viewer.token_id}
            given |= {} if viewer.target_id is None else {"target_id": viewer.target_id}
    return where, given


def _flag(value: bool | None) -> int | None:
    return None if value is None else int(value)
