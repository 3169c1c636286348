"""Tokens of users that apps hold: how an app checks, resets and narrows them."""

from collections.abc import Iterable, Mapping

from store.accounts import grants, tokens
from store.accounts.authorizations import SELECT, read
from store.database.connection import Connection, Row
from store.errors import Missing, existing


def of_app(db: Connection, app_id: int, value: str) -> Row | None:
    """Return the app's unexpired token of a user with this value, or None."""
    if not tokens.is_well_formed(value):
        return None
    return read(
        db.one(
            f"{SELECT} WHERE t.hash = :hash AND t.app_id = :app_id"
            f" AND t.kind IN ('oauth', 'app_user') AND {tokens.LIVE}",
            hash=tokens.digest(value),
            app_id=app_id,
        )
    )


def reset(db: Connection, row: Row) -> tuple[str, Row]:
    """Give the token a new value and return it. The old value is invalid at once.

    Raises Missing if the token has been reset or deleted meanwhile.
    """
    value = tokens.new_value(row["kind"])
    changed = {"hash": tokens.digest(value), "last_eight": value[-8:], "updated_at": db.now}
    # If two callers reset the same value at the same time, only one succeeds.
    done = db.execute(
        "UPDATE token SET hash = :hash, last_eight = :last_eight, updated_at = :updated_at"
        " WHERE id = :id AND hash = :old",
        id=row["id"],
        old=row["hash"],
        **changed,
    )
    if not done:
        raise Missing("token")
    grants.touch(db, row)
    return value, row | changed


def scope(
    db: Connection,
    row: Row,
    *,
    target_id: int,
    repositories: Iterable[int] | None,
    permissions: Mapping[str, str] | None,
) -> tuple[str, Row]:
    """Create a narrower token from an app's token of a user. Return its value and its row.

    The value is not stored. The token can access only the target's repositories, or only
    `repositories` of these. It expires when the first one does. Raises Invalid for permissions that
    the first one does not have, and Missing if it has been reset or deleted meanwhile.
    """
    row = _keep(db, row)
    grants.touch(db, row)
    value, made = tokens.create(
        db,
        row["account_id"],
        kind=row["kind"],
        permissions=grants.narrowed(row["permissions"], permissions),
        expires_at=row["expires_at"],
        app_id=row["app_id"],
        target_id=target_id,
        repositories=repositories,
        where_installed=bool(row["where_installed"]),
    )
    # The new token gets the first one's authorizations for single sign-on.
    db.execute(
        "INSERT INTO token_authorization (token_id, organization_id, created_at)"
        " SELECT :made, organization_id, :now FROM token_authorization WHERE token_id = :id",
        made=made["id"],
        id=row["id"],
    )
    found = read(db.one(f"{SELECT} WHERE t.id = :id", id=made["id"]))
    assert found is not None
    return value, found


def _keep(db: Connection, row: Row) -> Row:
    """Keep the token and its grant until the transaction ends. Return the token as it is now.

    Raises Missing if it has been reset or deleted meanwhile.
    """
    grants.alone(db, row["account_id"])
    # Many callers delete tokens without the lock of the grants, so the row is locked too.
    held = db.value(
        f"SELECT t.id FROM token t WHERE t.id = :id AND t.hash = :hash AND {tokens.LIVE}"
        f"{db.for_share}",
        id=row["id"],
        hash=row["hash"],
    )
    return existing(read(db.one(f"{SELECT} WHERE t.id = :id", id=held)), "token")
