"""Organizations, and what somebody is in one."""

from store import accounts
from store.connection import Connection, Row


def by_login(db: Connection, login: str) -> Row | None:
    """The organization of this login, whatever its case; None for a user's."""
    row = accounts.by_login(db, login)
    return row if row is not None and row["kind"] == "Organization" else None


def role_of(db: Connection, organization: Row, account: Row) -> str | None:
    """`admin` for its owners and whoever administers the site, `member`, or None.

    `account` needs `id` and `site_admin`.
    """
    if account["site_admin"] or account["id"] == organization["id"]:
        return "admin"
    return accounts.organization_role(db, organization["id"], account["id"])
