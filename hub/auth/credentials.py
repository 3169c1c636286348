"""Who asks: credentials from the Authorization header, and whom they name."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hub.http.errors import BEARER, Forbidden, Unauthenticated
from hub.http.response import header
from store import Connection, Row
from store.accounts import apps, tokens

SCOPED = ("personal", "oauth")
# Where a token stands in the user's place, this stands in the password's.
NO_PASSWORD = ("", "x-oauth-basic")


@dataclass(slots=True)
class Caller:
    """Somebody with a token: the account it speaks for, and what the token may do; or a user in
    person, whose `kind` is `password`.

    A token with a `target_id` reaches that account's repositories alone, and of these only
    `repositories`, where they are named.
    """

    account_id: int
    login: str
    site_admin: bool
    kind: str
    scopes: frozenset[str]
    permissions: dict[str, str]
    token_id: int | None = None
    app_id: int | None = None
    target_id: int | None = None
    repositories: frozenset[int] | None = None

    @property
    def account(self) -> dict[str, Any]:
        """As `repositories.role_of` asks for it."""
        return {"id": self.account_id, "site_admin": self.site_admin}

    @property
    def has_scopes(self) -> bool:
        """Whether scopes say what the token may do, and not permissions."""
        return self.kind in SCOPED

    def reaches(self, repo: Row) -> bool:
        """Whether the token is one for this repository."""
        if self.target_id is not None and repo["owner_id"] != self.target_id:
            return False
        return self.repositories is None or repo["id"] in self.repositories


def token_of(headers: Mapping[bytes, bytes]) -> str | None:
    """The token in the Authorization header, None without one. Unauthenticated if it is none."""
    value = credential_of(headers)
    # What cannot be a token is not looked up.
    if value is not None and not tokens.is_well_formed(value):
        raise Unauthenticated("Bad credentials")
    return value


def credential_of(headers: Mapping[bytes, bytes]) -> str | None:
    """What stands where a token belongs, None for nothing. Unauthenticated where none can be."""
    given = headers.get(b"authorization")
    if given is None:
        return None
    scheme, _, value = given.decode("latin-1").partition(" ")
    value = value.strip()
    if scheme.lower() == "basic":
        return _basic(value)
    if scheme.lower() not in ("bearer", "token"):
        raise Unauthenticated("Bad credentials")
    return value


def _basic(value: str) -> str:
    user, password = _pair(value)
    return user if password in NO_PASSWORD else password


def _pair(value: str) -> tuple[str, str]:
    try:
        user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        raise Unauthenticated("Bad credentials") from None
    return user, password


BASIC = (header("WWW-Authenticate", 'Basic realm="tocsin", charset="UTF-8"'),)
BEARER_OR_BASIC = (BEARER, *BASIC)


def pair_of(headers: Mapping[bytes, bytes]) -> tuple[str, str]:
    """User and password of Basic authentication. Unauthenticated without them, Forbidden for a
    token in their place.
    """
    given = headers.get(b"authorization")
    if given is None:
        raise Unauthenticated("Requires authentication", headers=BASIC)
    scheme, _, value = given.decode("latin-1").partition(" ")
    if scheme.lower() != "basic":
        raise Forbidden("This API can only be accessed with username and password Basic Auth")
    user, password = _pair(value.strip())
    if tokens.is_well_formed(password) or tokens.is_well_formed(user):
        raise Forbidden("This API can only be accessed with username and password Basic Auth")
    if "\0" in user:
        raise bad_pair()
    return user, password


def bad_pair() -> Unauthenticated:
    """It is not this one's password."""
    return Unauthenticated("Bad credentials", headers=BASIC)


def application(db: Connection, client_id: str, client_secret: str) -> Row:
    """The application with this secret. Unauthenticated for none, or another secret."""
    app = apps.by_client_id(db, client_id)
    if app is None or not apps.check_secret(app, client_secret):
        raise bad_pair()
    return app


def require(token: str | None) -> str:
    """The token. Unauthenticated without one."""
    if token is None:
        raise Unauthenticated("Requires authentication")
    return token


def authenticate(db: Connection, token: str) -> Caller:
    """The caller with this token. Unauthenticated for one that is unknown or has expired."""
    row = tokens.find(db, token)
    if row is None:
        raise Unauthenticated("Bad credentials")
    return caller_of(row)


def caller_of(row: Row) -> Caller:
    """Whom a token, as the store finds it, speaks for."""
    return Caller(
        row["account_id"],
        row["login"],
        bool(row["site_admin"]),
        row["kind"],
        row["scopes"],
        row["permissions"],
        row["id"],
        row["app_id"],
        row["target_id"],
        row["repositories"],
    )
