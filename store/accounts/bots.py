"""The accounts that apps act as. Their logins end with `[bot]`, and no user's login does."""

from store.database.connection import Connection
from store.errors import Conflict


def create(db: Connection, slug: str) -> int:
    """Create the account of the app with this slug, and return its id.

    If events have mentioned it, the placeholder becomes this account. Raises Conflict if another
    account has the login.
    """
    login = f"{slug}[bot]"
    made = db.optional_number(
        "INSERT INTO account (login, login_key, kind, created_at, updated_at)"
        " VALUES (:login, :key, 'Bot', :now, :now) ON CONFLICT (login_key) DO UPDATE SET"
        " login = excluded.login, kind = excluded.kind, heard_of = 0,"
        " updated_at = excluded.updated_at WHERE account.heard_of = 1 RETURNING id",
        login=login,
        key=login.lower(),
    )
    if made is None:
        raise Conflict(f"there is an account {login!r} already")
    return made


def release(db: Connection, bot_id: int) -> None:
    """Make the account of a deleted app a placeholder, because content may have it as author."""
    db.update("account", bot_id, heard_of=1)
