"""Grants: a user permits an application to act. There is one for each application and user."""

import json
from collections.abc import Iterable, Mapping

from store.accounts import tokens
from store.accounts.permissions import exceeding
from store.database import paging, row_lookup
from store.database.connection import ENDLESS, Connection, Row, json_array
from store.errors import Invalid

SELECT = (
    "SELECT g.id, g.app_id, g.account_id, g.created_at, g.updated_at, p.name AS app_name,"
    " p.url AS app_url, p.client_id, p.kind AS app_kind"
    " FROM app_grant g JOIN app p ON p.id = g.app_id"
)


def issue(
    db: Connection,
    app: Row,
    account_id: int,
    *,
    scopes: Iterable[str] = (),
    permissions: Mapping[str, str] | None = None,
    note: str | None = None,
    note_url: str | None = None,
    fingerprint: str | None = None,
    expires_at: int | None = None,
    by_password: bool = False,
    value: str | None = None,
    where_installed: bool = True,
) -> tuple[str, Row]:
    """Permit the application to act for the user. Return the value and the row of a new token.

    An integration's token has permissions: by default all of the application's. It is only valid
    where the application is installed, unless an administrator of the hub makes it without
    `where_installed`. Other applications' tokens have scopes. Raises Invalid for more permissions
    than the application has, and as `tokens.create` does.
    """
    integration = app["kind"] == "integration"
    if integration:
        permissions = narrowed(app["permissions"], permissions)
    ensure(db, app["id"], account_id)
    return tokens.create(
        db,
        account_id,
        kind="app_user" if integration else "oauth",
        scopes=scopes,
        permissions=permissions,
        note=note,
        note_url=note_url,
        fingerprint=fingerprint,
        expires_at=expires_at,
        by_password=by_password,
        value=value,
        app_id=app["id"],
        where_installed=integration and where_installed,
    )


def narrowed(held: Mapping[str, str], wanted: Mapping[str, str] | None) -> dict[str, str]:
    """Return `wanted`, or all of `held`. Raises Invalid if `wanted` exceeds `held`."""
    if not wanted:
        return dict(held)
    if exceeding(held, wanted):
        raise Invalid("The permissions requested are not granted to this installation.")
    return dict(wanted)


def alone(db: Connection, account_id: int) -> None:
    """Lock the user's grants until the transaction ends.

    Without the lock, two transactions that read first could both find no grant, and a token made
    while its grant is deleted would remain.
    """
    db.alone(f"grants of {account_id}")


def ensure(db: Connection, app_id: int, account_id: int) -> None:
    """Record the user's grant to the application, or its change."""
    alone(db, account_id)
    db.execute(
        "INSERT INTO app_grant (app_id, account_id, created_at, updated_at)"
        " VALUES (:app_id, :account_id, :now, :now) ON CONFLICT (account_id, app_id)"
        " DO UPDATE SET updated_at = excluded.updated_at",
        app_id=app_id,
        account_id=account_id,
    )


def touch(db: Connection, token: Row) -> None:
    """Record a change of a token's grant, if it has one."""
    db.execute(
        "UPDATE app_grant SET updated_at = :now"
        " WHERE app_id = :app_id AND account_id = :account_id",
        app_id=token["app_id"],
        account_id=token["account_id"],
    )


def page(
    db: Connection, account_id: int, *, limit: int, offset: int, app_id: int | None = None
) -> list[Row]:
    """Return a user's grants by id, each with `scopes`: all scopes of its unexpired tokens."""
    where, given = _where(account_id, app_id)
    rows = paging.page(db, f"{SELECT} WHERE {where} ORDER BY g.id", limit, offset, **given)
    return _with_scopes(db, account_id, rows)


def count(
    db: Connection, account_id: int, most: int = ENDLESS, *, app_id: int | None = None
) -> int:
    """Return how many grants `page` can return, counted up to `most`."""
    where, given = _where(account_id, app_id)
    return paging.count(db, f"SELECT g.id FROM app_grant g WHERE {where}", most, **given)


def _where(account_id: int, app_id: int | None) -> tuple[str, dict[str, int]]:
    return paging.conditions(
        {"g.account_id = :account_id": account_id, "g.app_id = :app_id": app_id}
    )


def get(db: Connection, account_id: int, grant_id: int) -> Row | None:
    """Return the user's grant with this id, or None."""
    where = "g.account_id = :account_id AND g.id = :id"
    row = db.one(f"{SELECT} WHERE {where}", account_id=account_id, id=grant_id)
    return _one(db, account_id, row)


def of_app(db: Connection, account_id: int, app_id: int) -> Row | None:
    """Return the user's grant to this application, or None."""
    where, given = _where(account_id, app_id)
    return _one(db, account_id, db.one(f"{SELECT} WHERE {where}", **given))


def _one(db: Connection, account_id: int, row: Row | None) -> Row | None:
    return None if row is None else _with_scopes(db, account_id, [row])[0]


def _with_scopes(db: Connection, account_id: int, grants: list[Row]) -> list[Row]:
    held: dict[int, list[str]] = {grant["app_id"]: [] for grant in grants}
    for app_id, scopes in db.tuples(
        f"SELECT t.app_id, t.scopes FROM {db.each('apps', app_id='integer')} AS w"
        # The plus keeps the database from using the user's index, because the user may have many
        # tokens of other apps.
        " JOIN token t ON t.app_id = w.app_id WHERE +t.account_id = :account_id"
        f" AND {tokens.LIVE} ORDER BY t.id",
        apps=json_array(held),
        account_id=account_id,
    ):
        held[app_id] += json.loads(scopes)
    for grant in grants:
        grant["scopes"] = list(tokens.normalize(held[grant["app_id"]]))
    return grants


def delete(db: Connection, grant: Row) -> int:
    """Delete a grant and all of the application's tokens for the user. Return how many tokens.

    Raises Missing if the grant is gone.
    """
    alone(db, grant["account_id"])
    ended = db.delete("token", app_id=grant["app_id"], account_id=grant["account_id"])
    row_lookup.delete(db, "app_grant", grant, "grant")
    return ended
