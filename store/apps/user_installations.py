"""Installations of an app on the accounts of a user, as far as the user's token may know them."""

from store.accounts.memberships import OwnSelection
from store.apps.installations import SELECT, decoded
from store.database import paging
from store.database.connection import Connection, Row
from store.database.paging import ListedRows

USERS_ACCOUNTS = (
    "SELECT a.id FROM account a WHERE a.id = :user_id UNION ALL"
    " SELECT m.organization_id FROM membership m WHERE m.account_id = :user_id"
)


def concerns(db: Connection, installation: Row, app_id: int, user_id: int) -> bool:
    """Return whether an installation is one of this app, on an account of the user."""
    return db.exists(
        "SELECT 1 FROM installation i WHERE i.id = :id AND i.app_id = :app_id"
        f" AND EXISTS (SELECT 1 FROM ({USERS_ACCOUNTS}) AS u WHERE u.id = i.account_id)",
        id=installation["id"],
        app_id=app_id,
        user_id=user_id,
    )


def page(
    db: Connection, app_id: int, own: OwnSelection, *, total: int, limit: int, offset: int
) -> list[Row]:
    """Return a page of an app's installations on the user's accounts, oldest first.

    The user's token must be valid for the accounts. `total` is the result of `count`.
    """
    where, given = own.condition(db, "i.account_id")
    within = f"i.app_id = :app_id{where}"
    rows = paging.listed_page(
        db,
        SELECT,
        ListedRows("installation", "i", "i.id", "i.account_id", USERS_ACCOUNTS, within),
        total=total,
        limit=limit,
        offset=offset,
        app_id=app_id,
        user_id=own.account_id,
        **given,
    )
    return [decoded(row) for row in rows]


def count(db: Connection, app_id: int, own: OwnSelection) -> int:
    """Return how many installations `page` can return."""
    where, given = own.condition(db, "i.account_id")
    return db.number(
        "SELECT (SELECT count(*) FROM installation i WHERE i.app_id = :app_id"
        f" AND i.account_id = :user_id{where}) + (SELECT count(*) FROM membership m"
        " JOIN installation i ON i.app_id = :app_id AND i.account_id = m.organization_id"
        f" WHERE m.account_id = :user_id AND m.organization_id <> :user_id{where})",
        app_id=app_id,
        user_id=own.account_id,
        **given,
    )
