"""The users who can be assigned to a repository's issues.

They are its owner, the members of the organization that owns it, and collaborators who may write.
"""

from collections.abc import Sequence

from store.accounts import accounts
from store.database import paging
from store.database.connection import Connection, Row, json_array
from store.repositories.repositories import ROLES

WRITING = ", ".join(f"'{role}'" for role in ROLES[ROLES.index("write") :])
IS_USER = "a.kind = 'User'"
MEMBERS = "SELECT m.account_id AS id FROM membership m WHERE m.organization_id = :owner_id"
OTHERS = (
    " UNION ALL SELECT r.owner_id FROM repository r WHERE r.id = :repo_id"
    " UNION ALL SELECT c.account_id FROM collaborator c WHERE c.repo_id = :repo_id"
    f" AND c.role IN ({WRITING})"
)


def _listed(*, concealed: bool) -> str:
    """Return SQL for the ids, with or without members whose membership is concealed."""
    return f"{MEMBERS}{'' if concealed else ' AND m.public = 1'}{OTHERS}"


def page(
    db: Connection, repo: Row, *, concealed: bool, total: int, limit: int, offset: int
) -> list[Row]:
    """Return a page of the accounts, by login. `total` is the result of `count`.

    Concealed members of the organization are among them if `concealed`.
    """
    return paging.listed_page(
        db,
        f"SELECT {accounts.OF_JOINED} FROM account a",
        accounts.by_login_among(_listed(concealed=concealed), IS_USER),
        total=total,
        limit=limit,
        offset=offset,
        **_of(repo),
    )


def count(db: Connection, repo: Row, most: int, *, concealed: bool) -> int:
    """Return how many accounts `page` can return, counted up to `most`."""
    return paging.count(
        db,
        f"SELECT DISTINCT f.id FROM ({_listed(concealed=concealed)}) AS f"
        f" WHERE EXISTS (SELECT 1 FROM account a WHERE a.id = f.id AND {IS_USER})",
        most,
        **_of(repo),
    )


def among(
    db: Connection, repo: Row, logins: Sequence[str], *, concealed: bool = True
) -> dict[str, Row]:
    """Return the accounts among these logins that can be assigned, by lower-case login.

    They are in the order of the logins. Concealed members of the organization are among them if
    `concealed`.
    """
    rows = db.all(
        f"SELECT {accounts.OF_JOINED} FROM {db.each('logins', wanted='text')} AS w"
        f" JOIN account a ON a.login_key = w.wanted WHERE {IS_USER}"
        f" AND EXISTS (SELECT 1 FROM ({_listed(concealed=concealed)}) AS f WHERE f.id = a.id)",
        logins=json_array({login.lower() for login in logins}),
        **_of(repo),
    )
    found = {row["login"].lower(): row for row in rows}
    keys = dict.fromkeys(login.lower() for login in logins)
    return {key: found[key] for key in keys if key in found}


def _of(repo: Row) -> Row:
    return {"repo_id": repo["id"], "owner_id": repo["owner_id"]}
