"""Organizations, and the roles of accounts in them."""

from collections.abc import Iterable

from store.accounts import accounts
from store.database.connection import Connection, Row, json_array


def by_login(db: Connection, login: str) -> Row | None:
    """Return the organization with this login, in any case. Return None if it is a user's."""
    row = accounts.by_login(db, login)
    return row if row is not None and row["kind"] == "Organization" else None


def role_of(db: Connection, organization: Row, account: Row) -> str | None:
    """Return `admin` for owners and site administrators, `member`, or None.

    `account` needs `id` and `site_admin`. An installation (`reach`) has the role `admin` in the
    organization that it is on, where its permissions limit it.
    """
    if (reach := account.get("reach")) is not None:
        return "admin" if reach.account_id == organization["id"] else None
    if account["site_admin"] or account["id"] == organization["id"]:
        return "admin"
    return accounts.organization_role(db, organization["id"], account["id"])


def member_ids(db: Connection, organization_id: int) -> list[int]:
    """Return the account ids of an organization's members, including its owners."""
    return db.column(
        "SELECT account_id FROM membership WHERE organization_id = :id ORDER BY account_id",
        id=organization_id,
    )


def members_by_login(db: Connection, organization_id: int, logins: Iterable[str]) -> dict[str, int]:
    """Return the members among these logins: lower-case login to account id."""
    return db.mapping(
        f"SELECT a.login_key, a.id FROM {db.each('logins', login='text')} AS w"
        " JOIN account a ON a.login_key = w.login JOIN membership m ON m.account_id = a.id"
        " WHERE m.organization_id = :organization_id",
        logins=json_array({login.lower() for login in logins}),
        organization_id=organization_id,
    )
