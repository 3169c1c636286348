"""Credentials in the Authorization header, and the caller that they identify."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hub.http.errors import BEARER, Forbidden, Unauthenticated
from hub.http.response import header
from store import Connection, Row
from store.accounts import apps, tokens
from store.accounts.app_rights import InstallationReach, WhereInstalled

# If the token is sent as the user name, the password must be one of these.
NO_PASSWORD = ("", "x-oauth-basic")
SUSPENDED = "This installation has been suspended"
ONLY_USER = "This API can only be accessed with username and password Basic Auth"
ONLY_APP = "This API can only be accessed with client id and client secret Basic Auth"


@dataclass(slots=True)
class Caller:
    """The account that a token acts for, with the token's rights; or a user with a password.

    For a password `kind` is `password`. A token with a `target_id` has access to that account's
    repositories only; if `repositories` is set, only to those. A token that is only valid where its
    app is installed has access to no account by itself: `within` returns its rights on one.
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
    installation_id: int | None = None
    """The installation that acts; None for a token that acts for a user."""
    expires_at: int | None = None
    """When the token expires, in microseconds; None for one that does not."""
    where_installed: WhereInstalled | None = None
    """The limit of a token that is only valid where its app is installed; None for others."""
    within_account: int | None = None
    """The account for which `within` has looked up the token's rights, or None."""

    def within(self, db: Connection, account_id: int) -> "Caller":
        """Return the caller with the rights that the token has on an account.

        These are the same everywhere, unless the token is only valid where its app is installed.
        """
        if self.where_installed is None or self.within_account == account_id:
            return self
        rights = self.where_installed.rights_on(db, account_id)
        return replace(
            self,
            permissions=rights.permissions,
            target_id=rights.target_id,
            repositories=rights.repositories,
            within_account=account_id,
        )

    @property
    def scoped_to(self) -> int | None:
        """Return the account to which the token itself is limited, wherever its app is installed.

        None for a token without such a limit.
        """
        return self.target_id if self.where_installed is None else self.where_installed.target_id

    @property
    def account(self) -> dict[str, Any]:
        """Return the account as `repositories.role_of` needs it."""
        found: dict[str, Any] = {"id": self.account_id, "site_admin": self.site_admin}
        if self.installation_id is not None:
            assert self.target_id is not None, "an installation is on an account"
            found["reach"] = InstallationReach(self.target_id, self.repositories)
        return found

    @property
    def has_scopes(self) -> bool:
        """Return whether the token has scopes instead of permissions."""
        return self.kind in tokens.SCOPED

    def reaches(self, repo: Row) -> bool:
        """Return whether the token covers this repository, for a caller `within` its owner."""
        if self.target_id is not None and repo["owner_id"] != self.target_id:
            return False
        return self.repositories is None or repo["id"] in self.repositories

    def reaches_account(self, account_id: int) -> bool:
        """Return whether the token is limited to this account, or to none.

        The caller is `within` the account.
        """
        return self.target_id in (None, account_id)

    @property
    def sign_on_token_id(self) -> int | None:
        """Return the id of the token if single sign-on has to authorize it.

        An installation's token needs no authorization, as it is the organization's own.
        """
        return None if self.kind == "installation" else self.token_id


def token_of(headers: Mapping[bytes, bytes]) -> str | None:
    """Return the token in the Authorization header, or None without one.

    Raises Unauthenticated if it is not a token.
    """
    value = credential_of(headers)
    # A malformed token is not looked up.
    if value is not None and not tokens.is_well_formed(value):
        raise Unauthenticated("Bad credentials")
    return value


def credential_of(headers: Mapping[bytes, bytes]) -> str | None:
    """Return the credential in the Authorization header, of whatever form; None without one.

    Raises Unauthenticated if the header cannot be parsed or has another scheme.
    """
    given = headers.get(b"authorization")
    if given is None:
        return None
    scheme, _, value = given.decode("latin-1").partition(" ")
    value = value.strip()
    if scheme.lower() == "basic":
        user, password = _pair(value)
        return user if password in NO_PASSWORD else password
    if scheme.lower() not in ("bearer", "token"):
        raise Unauthenticated("Bad credentials")
    return value


def _pair(value: str) -> tuple[str, str]:
    try:
        user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        raise Unauthenticated("Bad credentials") from None
    return user, password


BASIC = (header("WWW-Authenticate", 'Basic realm="tocsin", charset="UTF-8"'),)
BEARER_OR_BASIC = (BEARER, *BASIC)


def pair_of(headers: Mapping[bytes, bytes], only: str = ONLY_USER) -> tuple[str, str]:
    """Return user name and password of Basic authentication.

    Raises Unauthenticated without them, and Forbidden with the message `only` for a token in their
    place.
    """
    given = headers.get(b"authorization")
    if given is None:
        raise Unauthenticated("Requires authentication", headers=BASIC)
    scheme, _, value = given.decode("latin-1").partition(" ")
    if scheme.lower() != "basic":
        raise Forbidden(only)
    user, password = _pair(value.strip())
    if tokens.is_well_formed(password) or tokens.is_well_formed(user):
        raise Forbidden(only)
    if "\0" in user:
        raise bad_pair()
    return user, password


def has_password(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether the Authorization header has a user name and a password, and no token."""
    try:
        pair_of(headers)
    except (Unauthenticated, Forbidden):
        return False
    return True


def bad_pair() -> Unauthenticated:
    """Return the error for a wrong user name or password."""
    return Unauthenticated("Bad credentials", headers=BASIC)


def application(db: Connection, client_id: str, client_secret: str) -> Row:
    """Return the application with this client id and secret.

    Raises Unauthenticated if none has them.
    """
    app = apps.by_client_id(db, client_id)
    if app is None or not apps.check_secret(app, client_secret):
        raise bad_pair()
    return app


def require(token: str | None) -> str:
    """Return the token. Raises Unauthenticated without one."""
    if token is None:
        raise Unauthenticated("Requires authentication")
    return token


def authenticate(db: Connection, token: str) -> Caller:
    """Return the caller with this token.

    Raises Unauthenticated if it is unknown or has expired, and Forbidden if its installation is
    suspended.
    """
    row = tokens.find(db, token)
    if row is None:
        raise Unauthenticated("Bad credentials")
    return caller_of(row)


def caller_of(row: Row) -> Caller:
    """Return the caller for a token's row. Raises Forbidden if its installation is suspended."""
    if row.get("suspended"):
        raise Forbidden(SUSPENDED)
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
        row["installation_id"],
        row["expires_at"],
        row["where_installed"] or None,
    )
