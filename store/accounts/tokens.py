"""Tokens: their kinds, their scopes, and how they are found by their hash."""

import hashlib
import json
import re
import secrets
import string
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import orjson

from store.accounts import app_rights
from store.accounts.permissions import checked
from store.clock import HOUR
from store.database.connection import Connection, Row
from store.errors import Conflict, Invalid
from store.jobs import jobs

# Kind to prefix. The prefixes are fixed, so that scanners can find leaked tokens.
KINDS = {
    "personal": "tsp_",
    "fine_grained": "tsf_",
    "oauth": "tso_",
    "app_user": "tsu_",
    # Clients recognize these by the prefix that the platform gives them.
    "installation": "ghs_",
}
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
BODY, CHECK = 30, 6
SCOPED = ("personal", "oauth")
"""The kinds whose tokens have scopes. All others have permissions."""
SHAPE = re.compile(rf"(?:{'|'.join(KINDS.values())})[0-9A-Za-z]{{{BODY + CHECK}}}")

# Scope to the scopes that it includes. Source: the specification, Authentication 5.
CHILDREN: dict[str, tuple[str, ...]] = {
    "repo": ("repo:invite", "public_repo", "repo:status", "repo_deployment", "security_events"),
    "admin:repo_hook": ("write:repo_hook", "read:repo_hook"),
    "write:repo_hook": ("read:repo_hook",),
    "admin:org": ("write:org", "read:org"),
    "write:org": ("read:org",),
    "admin:enterprise": ("read:enterprise", "manage_billing:assistant"),
    "admin:business": ("admin:enterprise", "read:enterprise"),
    "user": ("user:email", "user:follow", "read:user"),
    "admin:gpg_key": ("write:gpg_key", "read:gpg_key"),
    "write:gpg_key": ("read:gpg_key",),
    "admin:public_key": ("write:public_key", "read:public_key"),
    "write:public_key": ("read:public_key",),
    "write:discussion": ("read:discussion",),
    "devenv": ("devenv:secrets",),
}
ALONE = (
    "admin:org_hook",
    "admin:pre_receive_hook",
    "delete_repo",
    "gist",
    "notifications",
    "workflow",
)
SCOPES = frozenset(
    [*CHILDREN, *ALONE, *(child for children in CHILDREN.values() for child in children)]
)
WHOLE = sorted(
    {*CHILDREN, *ALONE} - {child for children in CHILDREN.values() for child in children}
)
"""The scopes that include all others."""
# An installation's token with a later time of creation was made while the clock was fast.
LIVE = (
    "(t.expires_at IS NULL OR t.expires_at > :now"
    f" AND NOT (t.kind = 'installation' AND t.created_at > :now + {HOUR}))"
)
"""SQL for: the token `t` has not expired."""


@cache
def included(scope: str) -> frozenset[str]:
    """Return a scope and all scopes that it includes."""
    children = (included(child) for child in CHILDREN.get(scope, ()))
    return frozenset([scope]).union(*children)


def normalize(scopes: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes without those that others include. Raises Invalid for an unknown scope."""
    asked = list(dict.fromkeys(scopes))
    for scope in asked:
        if scope not in SCOPES:
            raise Invalid(f"{scope!r} is not a scope", field="scopes", resource="OauthAccess")
    return tuple(
        scope
        for scope in asked
        if not any(scope in included(other) for other in asked if other != scope)
    )


def implies(scopes: Iterable[str], wanted: str) -> bool:
    """Return whether one of `scopes` is or includes `wanted`."""
    return any(wanted in included(scope) for scope in scopes)


def _checksum(text: str) -> str:
    number = zlib.crc32(text.encode())
    digits = ""
    for _ in range(CHECK):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


def new_value(kind: str) -> str:
    """Generate a token value: prefix, 30 random characters, 6 characters of checksum."""
    body = KINDS[kind] + "".join(secrets.choice(ALPHABET) for _ in range(BODY))
    return body + _checksum(body)


def is_well_formed(value: str) -> bool:
    """Return whether the value has a token's form and a correct checksum."""
    return bool(SHAPE.fullmatch(value)) and _checksum(value[:-CHECK]) == value[-CHECK:]


def digest(value: str) -> str:
    """Return the hexadecimal SHA-256 of a random secret, which is stored in its place.

    A slow hash would protect nothing, because nobody can guess the secret.
    """
    return hashlib.sha256(value.encode()).hexdigest()


def create(
    db: Connection,
    account_id: int,
    *,
    kind: str = "personal",
    scopes: Iterable[str] = (),
    permissions: Mapping[str, str] | None = None,
    note: str | None = None,
    expires_at: int | None = None,
    value: str | None = None,
    app_id: int | None = None,
    fingerprint: str | None = None,
    note_url: str | None = None,
    by_password: bool = False,
    target_id: int | None = None,
    repositories: Iterable[int] | None = None,
    installation_id: int | None = None,
    where_installed: bool = False,
) -> tuple[str, Row]:
    """Create a token. Return its value, which is not stored, and its row.

    With `target_id`, the token can access only that account's repositories, or only `repositories`
    of these. With `where_installed`, it is only valid where its app is installed. An installation's
    token expires after an hour by default. Raises Invalid for bad arguments, Conflict if the value
    exists.
    """
    if kind not in KINDS:
        raise Invalid(
            f"{kind!r} is not a kind of token: use one of {', '.join(KINDS)}", field="kind"
        )
    scopes = list(scopes)
    _check_rights(kind, scopes, permissions)
    if value is not None and not is_well_formed(value):
        raise Invalid("the value given is not a token: prefix or checksum is wrong", field="token")
    if where_installed and (kind != "app_user" or app_id is None):
        raise Invalid(
            f"a token of the kind {kind} is valid everywhere: only an integration's token of a"
            " user can be limited to where it is installed",
            field="where_installed",
        )
    if kind == "installation" and expires_at is None:
        expires_at = db.now + HOUR
    value = value or new_value(kind)
    row = db.one(
        "INSERT INTO token (account_id, kind, hash, last_eight, note, scopes, permissions,"
        " created_at, expires_at, app_id, fingerprint, note_url, updated_at, by_password,"
        " target_id, repositories, installation_id, where_installed) VALUES (:account_id, :kind,"
        " :hash, :last_eight, :note, :scopes, :permissions, :now, :expires_at, :app_id,"
        " :fingerprint, :note_url, :now, :by_password, :target_id, :repositories,"
        " :installation_id, :where_installed)"
        " ON CONFLICT (hash) DO NOTHING"
        " RETURNING id, account_id, kind, last_eight, note, created_at, expires_at",
        account_id=account_id,
        kind=kind,
        hash=digest(value),
        last_eight=value[-8:],
        note=note,
        scopes=json.dumps(normalize(scopes)),
        permissions=json.dumps(checked(permissions or {})),
        expires_at=expires_at,
        app_id=app_id,
        fingerprint=fingerprint,
        note_url=note_url,
        by_password=int(by_password),
        target_id=target_id,
        repositories=None if repositories is None else json.dumps(sorted(repositories)),
        installation_id=installation_id,
        where_installed=int(where_installed),
    )
    if row is None:
        raise Conflict("this token exists already")
    if expires_at is not None:
        jobs.notify_worker(db)
    return value, row


def _check_rights(kind: str, scopes: Sequence[str], permissions: Mapping[str, str] | None) -> None:
    """Raise Invalid if a token of this kind would ignore its scopes or permissions."""
    if kind in SCOPED and permissions:
        raise Invalid(
            f"a token of the kind {kind} has scopes, and no permissions", field="permissions"
        )
    if kind not in SCOPED and scopes:
        raise Invalid(f"a token of the kind {kind} has permissions, and no scopes", field="scopes")


def find(db: Connection, value: str) -> Row | None:
    """Return the unexpired token with this value, or None.

    It has its account's `login` and `site_admin`. With a `target_id`, it can access that account's
    repositories alone, and only `repositories` of these unless that is None. With `by_password`, it
    has no access where single sign-on is enforced. An app's token is limited to the app's rights.
    """
    return by_hash(db, digest(value))


def by_hash(db: Connection, hashed: str) -> Row | None:
    """Return the token with this digest, as `find` does."""
    row = db.one(
        "SELECT t.id, t.account_id, t.kind, t.scopes, t.permissions, t.expires_at, t.app_id,"
        " t.by_password, t.target_id, t.repositories, t.installation_id, t.where_installed,"
        " a.login, a.site_admin"
        " FROM token t JOIN account a ON a.id = t.account_id"
        f" WHERE t.hash = :hash AND {LIVE}",
        hash=hashed,
    )
    if row is None:
        return None
    row["scopes"] = frozenset(orjson.loads(row["scopes"]))
    row["permissions"] = orjson.loads(row["permissions"])
    if row["repositories"] is not None:
        row["repositories"] = frozenset(orjson.loads(row["repositories"]))
    return app_rights.limit_token(db, row)


def list_all(db: Connection) -> list[Row]:
    """Return every unexpired token with its account's login and its app's name, newest first.

    An installation's token has the login of the account where the app is installed. Values are not
    included.
    """
    rows = db.all(
        "SELECT t.id, coalesce(o.login, a.login) AS login, t.kind, t.last_eight, t.note, t.scopes,"
        " t.permissions, t.created_at, t.expires_at, p.name AS app, t.fingerprint,"
        " t.where_installed"
        " FROM token t JOIN account a ON a.id = t.account_id LEFT JOIN app p ON p.id = t.app_id"
        " LEFT JOIN installation i ON i.id = t.installation_id"
        " LEFT JOIN account o ON o.id = i.account_id"
        f" WHERE {LIVE} ORDER BY t.id DESC"
    )
    for row in rows:
        row["scopes"] = json.loads(row["scopes"])
        row["permissions"] = json.loads(row["permissions"])
        row["where_installed"] = bool(row["where_installed"])
    return rows


def revoke(db: Connection, token_id: int) -> bool:
    """Delete a token. Return False if there is no token with this id."""
    return db.delete("token", id=token_id) > 0
