"""What an app does with the tokens that it holds: check, reset, narrow those of users; and those
with which it speaks for itself.
"""

from collections.abc import Iterable, Mapping

from store.accounts import grants, tokens
from store.accounts.authorizations import SELECT, read
from store.database.connection import Connection, Row
from store.errors import Invalid, Missing


def install(
    db: Connection,
    app: Row,
    account_id: int,
    *,
    permissions: Mapping[str, str] | None = None,
    note: str | None = None,
    expires_at: int | None = None,
    value: str | None = None,
) -> tuple[str, Row]:
    """A token with which the app speaks for itself, in the account's repositories alone; its value
    is returned this once. Invalid for an app that is no integration, and for more than it may do.
    """
    if app["kind"] != "integration":
        raise Invalid("only an integration has installations", field="kind")
    return tokens.create(
        db,
        account_id,
        kind="installation",
        permissions=grants.narrowed(app["permissions"], permissions),
        note=note,
        expires_at=expires_at,
        value=value,
        app_id=app["id"],
        target_id=account_id,
    )


def of_app(db: Connection, app_id: int, value: str) -> Row | None:
    """The live token of this value that the app has of some user; None for any other."""
    if not tokens.is_well_formed(value):
        return None
    return read(
        db.one(
            f"{SELECT} WHERE t.hash = :hash AND t.app_id = :app_id"
            f" AND t.kind IN ('oauth', 'app_user') AND {tokens.LIVE}",
            hash=tokens.digest(value),
            app_id=app_id,
            now=db.now,
        )
    )


def reset(db: Connection, row: Row) -> tuple[str, Row]:
    """Give the token a new value, which is returned this once; the old one is invalid at once.

    Missing where the token has another value, or none, by now.
    """
    value = tokens.new_value(row["kind"])
    changed = {"hash": tokens.digest(value), "last_eight": value[-8:], "updated_at": db.now}
    # Of two that reset the same value at the same time, one has it.
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
    """Make a narrower token from an app user's; its value is returned this once.

    It reaches the target's repositories alone, of these only `repositories` where given, and ends
    when the first one does. Invalid for permissions that the first one has not.
    """
    grants.ensure(db, row["app_id"], row["account_id"])
    value, made = tokens.create(
        db,
        row["account_id"],
        kind=row["kind"],
        permissions=grants.narrowed(row["permissions"], permissions),
        expires_at=row["expires_at"],
        app_id=row["app_id"],
        target_id=target_id,
        repositories=repositories,
    )
    # What let the first one in lets this one in.
    db.execute(
        "INSERT INTO token_authorization (token_id, organization_id, created_at)"
        " SELECT :made, organization_id, :now FROM token_authorization WHERE token_id = :id",
        made=made["id"],
        now=db.now,
        id=row["id"],
    )
    found = read(db.one(f"{SELECT} WHERE t.id = :id", id=made["id"]))
    assert found is not None
    return value, found
