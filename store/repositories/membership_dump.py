"""Roles as they were granted: an organization's members, a repository's collaborators.

`repositories.role_of` returns the role that results from them.
"""

from store.database.connection import Connection


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
