"""The repositories and organizations that an account administers, whose hooks it may see."""

from store.accounts import sso
from store.accounts.role_grants import GRANTS
from store.database import paging
from store.database.connection import Connection, Row

# The limit of repositories in a result.
MOST = 5000
AUTHORIZED = sso.authorizing("o")


def refusing(db: Connection, token_id: int | None) -> list[int]:
    """Return the ids of the organizations whose single sign-on does not authorize the token."""
    return db.column(
        f"SELECT o.id FROM account o WHERE o.sso = 1 AND NOT {AUTHORIZED} ORDER BY o.id",
        token_id=token_id,
    )


def every_repository(
    db: Connection, token_id: int | None, *, named: bool = False
) -> list[int] | None:
    """Return the ids of the repositories that a site administrator's token may see; None for all.

    If an organization is `refusing`, these are the newest ones of all others, in the order of
    their ids. With `named`, the result is never None.
    """
    if not named and not refusing(db, token_id):
        return None
    found = db.column(
        "SELECT r.id FROM repository r JOIN account o ON o.id = r.owner_id"
        f" WHERE {AUTHORIZED} ORDER BY r.id DESC LIMIT :most",
        token_id=token_id,
        most=MOST,
    )
    return found[::-1]


def every_organization(db: Connection, token_id: int | None) -> list[int]:
    """Return the ids of the organizations that a site administrator's token may see."""
    return db.column(
        f"SELECT o.id FROM account o WHERE o.kind = 'Organization' AND {AUTHORIZED}"
        " ORDER BY o.id DESC LIMIT :most",
        token_id=token_id,
        most=MOST,
    )


def organizations(
    db: Connection, account_id: int, token_id: int | None, target_id: int | None = None
) -> list[int]:
    """Return the ids of the organizations that an account owns, limited as in `repositories`."""
    within, given = paging.conditions({"o.id = :target_id": target_id})
    return db.column(
        "SELECT o.id FROM membership m JOIN account o ON o.id = m.organization_id"
        f" WHERE m.account_id = :account_id AND m.role = 'admin' AND {AUTHORIZED} AND {within}"
        " ORDER BY o.id LIMIT :most",
        account_id=account_id,
        token_id=token_id,
        most=MOST,
        **given,
    )


def repositories(
    db: Connection, account_id: int, token_id: int | None, target_id: int | None = None
) -> list[Row]:
    """Return id and owner of the repositories that an account administers.

    The roles are those in `repositories.role_of`, except a site administrator's. `target_id` limits
    the result to one owner. Organizations whose single sign-on does not authorize the token are
    left out.
    """
    within, given = paging.conditions({"r.owner_id = :target_id": target_id})
    return db.all(
        "SELECT r.id, r.owner_id FROM (SELECT r.id FROM repository r WHERE r.owner_id = :account_id"
        f" UNION SELECT c.repo_id FROM {GRANTS} AS c"
        " WHERE c.account_id = :account_id AND c.role = 'admin'"
        " UNION SELECT r.id FROM membership m JOIN repository r ON r.owner_id = m.organization_id"
        " WHERE m.account_id = :account_id AND m.role = 'admin') AS f"
        " JOIN repository r ON r.id = f.id JOIN account o ON o.id = r.owner_id"
        f" WHERE {AUTHORIZED} AND {within}"
        " ORDER BY r.id LIMIT :most",
        account_id=account_id,
        token_id=token_id,
        most=MOST,
        **given,
    )
