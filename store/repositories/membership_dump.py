"""Roles as they were granted: an organization's members, a repository's collaborators.

`repositories.role_of` returns the role that results from them.
"""

from store.database.connection import Connection
from store.errors import Conflict


def members(db: Connection, organization_id: int) -> dict[str, str]:
    """Return login to role (`member`, `admin`) in an organization, by login."""
    return db.mapping(
        "SELECT a.login, m.role FROM membership m JOIN account a ON a.id = m.account_id"
        " WHERE m.organization_id = :organization_id ORDER BY a.login_key",
        organization_id=organization_id,
    )


def collaborators(db: Connection, repo_id: int) -> dict[str, str]:
    """Return login to the role granted in a repository, by login."""
    return db.mapping(
        "SELECT a.login, c.role FROM collaborator c JOIN account a ON a.id = c.account_id"
        " WHERE c.repo_id = :repo_id ORDER BY a.login_key",
        repo_id=repo_id,
    )


def granted(db: Connection, repo_id: int, account_id: int) -> str | None:
    """Return the role granted to an account in a repository, or None."""
    role: str | None = db.find_value(
        "SELECT role FROM collaborator", repo_id=repo_id, account_id=account_id
    )
    return role


def set_site_admin(db: Connection, account_id: int, site_admin: bool) -> None:
    """Set whether an account may do everything everywhere.

    Raises Conflict if nobody could do so any more.
    """
    if not site_admin:
        keep_site_administrator(db, account_id)
    db.update("account", account_id, site_admin=int(site_admin), updated_at=db.now)


def keep_site_administrator(db: Connection, account_id: int) -> None:
    """Raise Conflict if an account is the last administrator of the site."""
    # Without the lock, two transactions could each count on the other's administrator.
    db.alone("site administrators")
    administrators = db.tuples(
        "SELECT id, login FROM account WHERE site_admin = 1 ORDER BY id LIMIT 2"
    )
    if [number for number, _ in administrators] == [account_id]:
        raise Conflict(
            f"{administrators[0][1]} is the last site administrator: make another user one first,"
            " with `tocsin user edit LOGIN --site-admin`"
        )
