"""The accounts that have a role in a repository, whatever it comes from.

The owner administers it. An organization's owners administer its repositories, and its members
read them. Collaborators have the role that they were granted. The highest role counts.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from store.accounts import accounts
from store.accounts.role_grants import GRANTS
from store.accounts.viewers import RepositoryViewer, may_see
from store.database import paging
from store.database.connection import ENDLESS, Connection, Row, json_array
from store.repositories.repositories import ROLES, role_of

RANK = "CASE {} " + " ".join(f"WHEN '{role}' THEN {at}" for at, role in enumerate(ROLES)) + " END"
# The accounts from one source with their ranks, as SQL, and the column of the account's id.
GRANTED = (
    f"SELECT g.account_id AS id, {RANK.format('g.role')} AS rank FROM {GRANTS} AS g"
    " WHERE g.repo_id = :id",
    "g.account_id",
)
OUTSIDE = (
    f"{GRANTED[0]} AND g.account_id NOT IN"
    " (SELECT m.account_id FROM membership m WHERE m.organization_id = :owner_id)",
    "g.account_id",
)
MEMBERS = (
    "SELECT m.account_id AS id, CASE m.role WHEN 'admin' THEN :highest ELSE 0 END AS rank"
    " FROM membership m WHERE m.organization_id = :owner_id",
    "m.account_id",
)
OWNER = (
    "SELECT o.id, :highest AS rank FROM account o"
    " WHERE o.id = :owner_id AND o.kind <> 'Organization'",
    "o.id",
)
# The sources of a list, by the name that the API gives to it.
AFFILIATIONS = {
    "all": (GRANTED, MEMBERS, OWNER),
    "direct": (GRANTED, OWNER),
    "outside": (OUTSIDE,),
}
# The sources of the roles in a list. An account has its highest role, whatever it is listed for.
ROLE_SOURCES = AFFILIATIONS | {"direct": AFFILIATIONS["all"]}


def page(
    db: Connection,
    repo: Row,
    affiliation: str,
    least: str,
    *,
    total: int,
    limit: int,
    offset: int,
) -> list[Row]:
    """Return accounts with at least the role `least`, by login. `affiliation` is in AFFILIATIONS.

    The rows are accounts with their `role`. `total` is the result of `count`.
    """
    found, given = _ranked(repo, affiliation, least)
    highest = _highest(affiliation, "a.id")
    rows = paging.listed_page(
        db,
        f"SELECT {accounts.OF_JOINED}, ({highest}) AS rank FROM account a",
        accounts.by_login_among(found),
        total=total,
        limit=limit,
        offset=offset,
        **given,
    )
    return [row | {"role": ROLES[row["rank"]]} for row in rows]


def count(db: Connection, repo: Row, affiliation: str, least: str, most: int = ENDLESS) -> int:
    """Return how many accounts `page` can return, counted up to `most`."""
    found, given = _ranked(repo, affiliation, least)
    return paging.count(db, f"SELECT DISTINCT f.id FROM ({found}) AS f", most, **given)


def _ranked(repo: Row, affiliation: str, least: str) -> tuple[str, dict[str, Any]]:
    """Return SQL for the ids of the accounts. Some are there more than once."""
    entries = " UNION ALL ".join(sql for sql, _ in AFFILIATIONS[affiliation])
    rank = "e.rank"
    if ROLE_SOURCES[affiliation] != AFFILIATIONS[affiliation]:
        rank = f"({_highest(affiliation, 'e.id')})"
    sql = f"SELECT e.id FROM ({entries}) AS e"
    if least != ROLES[0]:
        # Without the condition, the database computes no rank of each account.
        sql += f" WHERE {rank} >= :least"
    given = {"id": repo["id"], "least": ROLES.index(least), "owner_id": repo["owner_id"]}
    return sql, given if affiliation == "outside" else given | {"highest": len(ROLES) - 1}


def _highest(affiliation: str, wanted_id: str) -> str:
    """Return SQL for the highest rank of the account with an id, which is SQL too."""
    entries = " UNION ALL ".join(
        f"{sql} AND {account_id} = {wanted_id}" for sql, account_id in ROLE_SOURCES[affiliation]
    )
    return f"SELECT max(f.rank) FROM ({entries}) AS f"


def belongs(db: Connection, repo: Row, account: Row) -> bool:
    """Return whether an account has a role that not everybody has."""
    found, given = _ranked(repo, "all", ROLES[0])
    return db.exists(
        f"SELECT 1 FROM ({found}) AS f WHERE f.id = :account_id LIMIT 1",
        account_id=account["id"],
        **given,
    )


def roles_of(db: Connection, repos: Sequence[Row], account: Row) -> dict[int, str]:
    """Return repository id to the account's role, for repositories that it may see.

    It follows the rules of `repositories.role_of`. `account` needs `id` and `site_admin`.
    """
    if account.get("reach") is not None:
        return {repo["id"]: role_of(db, repo, account) or ROLES[0] for repo in repos}
    held: dict[int, list[str]] = {repo["id"]: ["read"] for repo in repos}
    granted = f"SELECT repo_id, role FROM {GRANTS} AS g WHERE account_id = :account_id"
    for repo_id, role in _rows(db, f"{granted} AND repo_id", account["id"], list(held)):
        held[repo_id].append(role)
    owners = [repo["owner_id"] for repo in repos]
    member = "SELECT organization_id, role FROM membership WHERE account_id = :account_id"
    roles = dict(_rows(db, f"{member} AND organization_id", account["id"], owners))
    for repo in repos:
        owns = account["site_admin"] or account["id"] == repo["owner_id"]
        if owns or roles.get(repo["owner_id"]) == "admin":
            held[repo["id"]].append("admin")
    return {repo_id: max(found, key=ROLES.index) for repo_id, found in held.items()}


def _rows(
    db: Connection, sql: str, account_id: int, ids: Sequence[int]
) -> Sequence[tuple[Any, ...]]:
    return db.tuples(f"{sql} {db.among('ids')}", account_id=account_id, ids=json_array(set(ids)))


def collaborates(
    db: Connection,
    organization_id: int,
    account_id: int,
    viewer: RepositoryViewer,
    roles: Iterable[str],
) -> bool:
    """Return whether an account was granted one of these roles in a repository of the organization.

    Only repositories that the viewer may see count.
    """
    shown, given = may_see(db, viewer)
    return db.exists(
        f"SELECT 1 FROM {GRANTS} AS p JOIN repository r ON r.id = p.repo_id"
        " JOIN account a ON a.id = r.owner_id WHERE p.account_id = :account_id"
        f" AND p.role {db.among('roles', 'text')}"
        f" AND r.owner_id = :organization_id AND {shown} LIMIT 1",
        account_id=account_id,
        organization_id=organization_id,
        roles=json_array(roles),
        **given,
    )
