"""Organizations, and what somebody is in one."""

from collections.abc import Iterable

from store import accounts
from store.connection import Connection, Row, listed


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


def members_named(db: Connection, organization_id: int, logins: Iterable[str]) -> dict[str, int]:
    """Login in lower case to account, of those of these who are members."""
    return dict(
        db.tuples(
            f"SELECT a.login_key, a.id FROM {db.each('logins', login='text')} AS w"
            " JOIN account a ON a.login_key = w.login JOIN membership m ON m.account_id = a.id"
            " WHERE m.organization_id = :organization_id",
            logins=listed({login.lower() for login in logins}),
            organization_id=organization_id,
        )
    )
