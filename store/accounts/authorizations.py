"""Authorizations: a user's tokens as records that the user, or the app that holds them, manages."""

import json
from collections.abc import Iterable, Mapping

import orjson
from typing_extensions import TypedDict, Unpack

from store.accounts import app_rights, grants, tokens
from store.database import paging, upsert
from store.database.connection import ENDLESS, Connection, Row
from store.errors import Invalid, Missing, existing

RESOURCE = "OauthAccess"
COLUMNS = (
    "t.id, t.account_id, t.kind, t.hash, t.last_eight, t.note, t.note_url, t.scopes,"
    " t.permissions, t.fingerprint, t.created_at, t.updated_at, t.expires_at, t.app_id,"
    " t.target_id, t.repositories, t.where_installed, p.name AS app_name, p.url AS app_url,"
    " p.client_id, p.permissions AS most"
)
SELECT = f"SELECT {COLUMNS} FROM token t LEFT JOIN app p ON p.id = t.app_id"
# A user manages unexpired personal and OAuth tokens. Tokens of installations and tokens with
# permissions are left out.
MANAGED = f"t.account_id = :account_id AND t.kind IN ('personal', 'oauth') AND {tokens.LIVE}"


class TokenFields(TypedDict, total=False):
    """The fields of a new token that its user chooses."""

    scopes: list[str]
    note: str | None
    note_url: str | None
    fingerprint: str | None


def create_personal(
    db: Connection, account_id: int, **fields: Unpack[TokenFields]
) -> tuple[str, Row]:
    """Create a token without an app. Return its value, which is not stored, and its row.

    Raises Invalid without a `note`, or if another such token of the user has it.
    """
    grants.alone(db, account_id)
    _check_note(db, account_id, fields.get("note"))
    value, made = tokens.create(db, account_id, by_password=True, **fields)
    return value, _made(db, account_id, made["id"])


def create_for_app(
    db: Connection, account_id: int, app: Row, **fields: Unpack[TokenFields]
) -> tuple[str, Row]:
    """Create a token for an app. Return its value, which is not stored, and its row.

    Raises Invalid if the app has a token for this user and `fingerprint` already.
    """
    grants.alone(db, account_id)
    _check_fingerprint(db, account_id, app["id"], fields.get("fingerprint"))
    value, made = grants.issue(db, app, account_id, by_password=True, **fields)
    return value, _made(db, account_id, made["id"])


def get_or_create(
    db: Connection, account_id: int, app: Row, **fields: Unpack[TokenFields]
) -> tuple[str | None, Row]:
    """Return the app's token for this user and `fingerprint`, unchanged, or create one.

    The value is None for an existing token.
    """
    grants.alone(db, account_id)
    found = of_fingerprint(db, account_id, app["id"], fields.get("fingerprint"))
    return (None, found) if found else create_for_app(db, account_id, app, **fields)


def _made(db: Connection, account_id: int, token_id: int) -> Row:
    row = get(db, account_id, token_id)
    assert row is not None
    return row


def of_fingerprint(
    db: Connection, account_id: int, app_id: int, fingerprint: str | None
) -> Row | None:
    """Return the app's unexpired token for this user and fingerprint (None: no fingerprint)."""
    return read(
        db.one(
            f"{SELECT} WHERE {MANAGED} AND t.app_id = :app_id"
            " AND coalesce(t.fingerprint, '') = :fingerprint ORDER BY t.id LIMIT 1",
            account_id=account_id,
            app_id=app_id,
            fingerprint=fingerprint or "",
        )
    )


def page(
    db: Connection, account_id: int, *, limit: int, offset: int, app_id: int | None = None
) -> list[Row]:
    """Return a user's authorizations by id: all, or an app's."""
    where, given = _where(account_id, app_id)
    rows = paging.page(db, f"{SELECT} WHERE {where} ORDER BY t.id", limit, offset, **given)
    return [decode_row(row) for row in rows]


def count(
    db: Connection, account_id: int, most: int = ENDLESS, *, app_id: int | None = None
) -> int:
    """Return how many authorizations `page` can return, counted up to `most`."""
    where, given = _where(account_id, app_id)
    return paging.count(db, f"SELECT t.id FROM token t WHERE {where}", most, **given)


def _where(account_id: int, app_id: int | None) -> tuple[str, dict[str, int]]:
    where, given = paging.conditions({MANAGED: True, "t.app_id = :app_id": app_id})
    return where, given | {"account_id": account_id}


def get(db: Connection, account_id: int, token_id: int) -> Row | None:
    """Return the user's authorization with this id, or None."""
    return read(
        db.one(f"{SELECT} WHERE {MANAGED} AND t.id = :id", account_id=account_id, id=token_id)
    )


def update(
    db: Connection,
    row: Row,
    *,
    scopes: Iterable[str] | None = None,
    added: Iterable[str] = (),
    removed: Iterable[str] = (),
    texts: Mapping[str, str | None] | None = None,
) -> tuple[Row, bool]:
    """Change an authorization. Return it, and whether anything changed.

    `scopes` replaces its scopes; `added` and `removed` change them. `texts` may have its `note`,
    `note_url` and `fingerprint`. Raises Invalid if a note or fingerprint is in use, Missing if the
    token is gone.
    """
    grants.alone(db, row["account_id"])
    before = existing(get(db, row["account_id"], row["id"]), "authorization")
    gone = set(removed)
    kept = [one for one in (before["scopes"] if scopes is None else scopes) if one not in gone]
    after = {**(texts or {}), "scopes": json.dumps(tokens.normalize([*kept, *added]))}
    _check_change(db, before, before | after)
    stored = {**before, "scopes": json.dumps(before["scopes"])}
    is_changed = upsert.update(db, "token", stored, after)
    if is_changed:
        grants.touch(db, before)
    return _made(db, row["account_id"], row["id"]), is_changed


def _check_change(db: Connection, before: Row, after: Mapping[str, str | None]) -> None:
    if before["app_id"] is None:
        if after["note"] != before["note"]:
            _check_note(db, before["account_id"], after["note"])
    elif after["fingerprint"] != before["fingerprint"]:
        _check_fingerprint(db, before["account_id"], before["app_id"], after["fingerprint"])


def delete(db: Connection, row: Row) -> None:
    """Delete a token. Its grant stays. Raises Missing if the token is gone."""
    if not tokens.revoke(db, row["id"]):
        raise Missing("authorization")
    grants.touch(db, row)


def _check_fingerprint(
    db: Connection, account_id: int, app_id: int, fingerprint: str | None
) -> None:
    if of_fingerprint(db, account_id, app_id, fingerprint) is not None:
        raise _taken("fingerprint", "this app has a token for this user and fingerprint already")


def _check_note(db: Connection, account_id: int, note: str | None) -> None:
    if not note:
        raise Invalid(
            "a token without an app needs a note",
            field="note",
            code="missing_field",
            resource=RESOURCE,
        )
    if db.exists(
        f"SELECT 1 FROM token t WHERE {MANAGED} AND t.app_id IS NULL AND t.note = :note LIMIT 1",
        account_id=account_id,
        note=note,
    ):
        raise _taken("note", "another token of this user has this note")


def _taken(field: str, message: str) -> Invalid:
    return Invalid(message, field=field, code="already_exists", resource=RESOURCE)


def read(row: Row | None) -> Row | None:
    """Decode a row that may be None."""
    return None if row is None else decode_row(row)


def decode_row(row: Row) -> Row:
    """Decode the JSON columns of a row of SELECT."""
    row["scopes"] = orjson.loads(row["scopes"])
    row["permissions"] = orjson.loads(row["permissions"])
    most = row.pop("most")
    if most is not None and row["kind"] == "app_user":
        row["permissions"] = app_rights.of_user(row["permissions"], orjson.loads(most))
    if row["repositories"] is not None:
        row["repositories"] = orjson.loads(row["repositories"])
    return row
