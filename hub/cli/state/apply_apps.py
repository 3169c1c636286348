"""The application of apps, and of the tokens of users and apps."""

from typing import Any

from hub.cli.console import options
from hub.cli.state import parts
from hub.cli.state.changes import StateChange, combined, outcome_of, secret
from store import Connection, Row
from store.accounts import app_tokens, apps, grants, sso, tokens
from store.errors import Conflict


def app(db: Connection, wanted: parts.AppEntry) -> StateChange:
    """Create or update an app, which is identified by its name.

    Raises Conflict if its owner, kind or client id would change, because its tokens depend on them.
    """
    owner, given = options.account(db, wanted.owner), secret(wanted.client_secret)
    row = apps.by_name(db, wanted.name)
    if row is None:
        made, _ = apps.create(
            db,
            owner["id"],
            wanted.name,
            url=wanted.url,
            kind=wanted.kind,
            description=wanted.description,
            permissions=wanted.permissions,
            client_id=wanted.client_id,
            client_secret=given,
        )
        return StateChange("app", wanted.name, "created", made if given is None else None)
    fixed = {"kind": wanted.kind, "owner_id": owner["id"], "client_id": wanted.client_id}
    fixed = {name: value for name, value in fixed.items() if value is not None}
    if fixed != {name: row[name] for name in fixed}:
        raise Conflict(f"the app {wanted.name!r} has another owner, kind or id; remove it first")
    before = {name: row[name] for name in ("url", "description", "permissions")}
    after = before | wanted.given(*before)
    if after != before:
        apps.update(db, row["id"], **after)
    other = given is not None and not apps.check_secret(row, given)
    if other and given is not None:
        apps.set_secret(db, row["id"], given)
    return StateChange("app", wanted.name, combined(outcome_of(before, after), other))


def token(db: Connection, wanted: parts.TokenEntry) -> StateChange:
    """Create a token, or add organizations with SSO to it.

    A token is identified by its value, or else by its user, app and note. Raises Conflict if
    anything else of it would change.
    """
    owner = options.account(db, wanted.user)
    holder = None if wanted.app is None else options.app(db, wanted.app)
    name = " ".join(part for part in (wanted.user, wanted.app, wanted.note) if part)
    known = _known(db, wanted)
    if known is None:
        value = _made(db, wanted, owner, holder)
        made = tokens.find(db, value)
        if made is not None:
            _authorise(db, made["id"], wanted)
        return StateChange("token", name, "created", None if wanted.value else value)
    if _differs(known, owner, holder, wanted):
        raise Conflict("this token exists with other values; `tocsin token remove` it first")
    return StateChange("token", name, combined("unchanged", _authorise(db, known["id"], wanted)))


def _authorise(db: Connection, token_id: int, wanted: parts.TokenEntry) -> bool:
    """Authorize a token for its organizations with SSO. Return whether one was new."""
    found = [options.account(db, login) for login in wanted.sso]
    return sum(sso.authorise(db, token_id, organization["id"]) for organization in found) > 0


def _made(db: Connection, wanted: parts.TokenEntry, owner: Row, holder: Row | None) -> str:
    given: dict[str, Any] = {
        "permissions": wanted.permissions,
        "note": wanted.note,
        "expires_at": wanted.ends(),
        "value": secret(wanted.value),
    }
    if holder is not None and wanted.kind == "installation":
        return app_tokens.install(db, holder, owner["id"], **given)[0]
    given |= {"scopes": wanted.scopes, "fingerprint": wanted.fingerprint}
    if holder is not None:
        return grants.issue(db, holder, owner["id"], **given)[0]
    return tokens.create(db, owner["id"], kind=wanted.kind, **given)[0]


def _known(db: Connection, wanted: parts.TokenEntry) -> Row | None:
    every = tokens.list_all(db)
    if wanted.value is not None:
        found = tokens.find(db, wanted.value.get_secret_value())
        return next((row for row in every if found is not None and row["id"] == found["id"]), None)
    sought = (wanted.user.lower(), (wanted.app or "").lower(), wanted.note)
    return next(
        (
            row
            for row in every
            if (row["login"].lower(), (row["app"] or "").lower(), row["note"]) == sought
        ),
        None,
    )


def _differs(known: Row, owner: Row, holder: Row | None, wanted: parts.TokenEntry) -> bool:
    kind: str = wanted.kind
    if holder is not None and kind != "installation":
        kind = apps.KINDS[holder["kind"]]
    permissions = wanted.permissions
    if holder is not None and kind != "oauth" and not permissions:
        permissions = known["permissions"]
    ends = wanted.ends()
    if ends is None and kind == "installation":
        # A new installation token gets an expiry by default.
        ends = known["expires_at"]
    return (
        known["login"],
        known["app"],
        known["kind"],
        tuple(known["scopes"]),
        known["permissions"],
        known["fingerprint"],
        known["expires_at"],
    ) != (
        owner["login"],
        None if holder is None else holder["name"],
        kind,
        tokens.normalise(wanted.scopes),
        permissions,
        wanted.fingerprint,
        ends,
    )
