"""Who asks: credentials from the Authorization header, and the token they name."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hub.answers import Header, header
from hub.errors import Unauthenticated
from store import Connection, tokens

SCOPED = ("personal", "oauth")
# Where a token stands in the user's place, this stands in the password's.
NO_PASSWORD = ("", "x-oauth-basic")


@dataclass(slots=True)
class Caller:
    """Somebody with a token: the account it speaks for, and what the token may do."""

    account_id: int
    login: str
    site_admin: bool
    kind: str
    scopes: frozenset[str]
    permissions: dict[str, str]

    @property
    def account(self) -> dict[str, Any]:
        """As `repositories.role_of` asks for it."""
        return {"id": self.account_id, "site_admin": self.site_admin}

    @property
    def scoped(self) -> bool:
        """Whether scopes say what the token may do, and not permissions."""
        return self.kind in SCOPED

    def headers(self, accepted: tuple[str, ...]) -> list[Header]:
        """What a client is told of its token's scopes and of those that would do."""
        if not self.scoped:
            return []
        return [
            header("X-OAuth-Scopes", ", ".join(sorted(self.scopes))),
            header("X-Accepted-OAuth-Scopes", ", ".join(accepted)),
        ]


def token_of(headers: Mapping[bytes, bytes]) -> str | None:
    """The token in the Authorization header, None without one. Unauthenticated if it is none."""
    given = headers.get(b"authorization")
    if given is None:
        return None
    scheme, _, value = given.decode("latin-1").partition(" ")
    value = value.strip()
    if scheme.lower() == "basic":
        value = _basic(value)
    elif scheme.lower() not in ("bearer", "token"):
        raise Unauthenticated("Bad credentials")
    # What cannot be a token is not looked up.
    if not tokens.well_formed(value):
        raise Unauthenticated("Bad credentials")
    return value


def _basic(value: str) -> str:
    try:
        user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        raise Unauthenticated("Bad credentials") from None
    return user if password in NO_PASSWORD else password


def needed(token: str | None) -> str:
    """The token. Unauthenticated without one."""
    if token is None:
        raise Unauthenticated("Requires authentication")
    return token


def authenticate(db: Connection, token: str) -> Caller:
    """The caller with this token. Unauthenticated for one that is unknown or has expired."""
    row = tokens.find(db, token)
    if row is None:
        raise Unauthenticated("Bad credentials")
    return Caller(
        row["account_id"],
        row["login"],
        bool(row["site_admin"]),
        row["kind"],
        row["scopes"],
        row["permissions"],
    )
