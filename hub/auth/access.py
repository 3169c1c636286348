"""The permissions that an operation requires, and the check of them. There is no default.

The kind of access depends on the resource: the user's own data (`on_user`), no restriction
(`public`), or a user with a password (`as_user`). `repository_access`, `organization_access`,
`enterprise_access` and `app_access` have the other kinds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from hub.auth.credentials import Caller
from hub.auth.token_rights import ALL, CLASSIC, USERS, Permission, check_kind, check_token
from hub.http.response import Header, header
from store import Connection, Row
from store.accounts import tokens
from store.accounts.permissions import LEVELS
from store.clock import spaced
from store.repositories import repositories

EXPIRATION = "Service-Authentication-Token-Expiration"
PERMISSIONLESS = "allows_permissionless_access=true"

Credentials = Literal["token", "any", "password", "app", "jwt", "all", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The requirements common to every kind of access.

    A token with permissions needs one of `permissions` (name and level). A token with scopes needs
    one of `scopes`, or one of `public_scopes` if the resource is public. With `anyone`, requests
    without credentials are allowed, and tokens need no scope.
    """

    credentials: ClassVar[Credentials] = "token"
    owned: ClassVar[bool] = False
    """Whether the path's first row is looked up within the caller's account."""

    permissions: tuple[Permission, ...] = ()
    scopes: tuple[str, ...] = ()
    public_scopes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ALL
    anyone: bool = False
    role: str | None = None

    def __post_init__(self) -> None:
        assert self.role is None or self.role in repositories.ROLES, self.role
        assert all(level in LEVELS for _, level in self.permissions), self.permissions
        assert set(self.scopes + self.public_scopes) <= tokens.SCOPES, self.scopes
        assert set(self.kinds) <= set(ALL), self.kinds
        assert self.scopes or not self.takes_scopes, "the access needs a scope for classic tokens"

    @property
    def takes_scopes(self) -> bool:
        """Return whether tokens with scopes need one of the access's scopes."""
        return not self.anyone and not set(CLASSIC).isdisjoint(self.kinds)

    @property
    def accepted(self) -> tuple[str, ...]:
        """Return every scope that is sufficient for some resource."""
        return self.scopes + self.public_scopes

    def headers(self, caller: Caller) -> list[Header]:
        """Return the response headers that list the token's scopes, the accepted ones, and its end.

        If tokens of this kind are rejected, no accepted scopes or permissions are listed.
        """
        found, applies = [], caller.kind in self.kinds
        if caller.has_scopes:
            found.append(header("X-OAuth-Scopes", ", ".join(sorted(caller.scopes))))
            if applies:
                found.append(header("X-Accepted-OAuth-Scopes", ", ".join(self.accepted)))
        elif applies:
            held = "; ".join(f"{name}={level}" for name, level in self.permissions)
            found.append(header("X-Accepted-Service-Permissions", held or PERMISSIONLESS))
        if caller.expires_at is not None:
            found.append(header(EXPIRATION, spaced(caller.expires_at)))
        return found

    @property
    def requirement(self) -> str | None:
        """Return the role that the caller needs, as a sentence; None if none is needed."""
        return None if self.role is None else f"Role in the repository: {self.role}."

    def or_has(self, permission: str, level: str) -> Self:
        """Return an access that also accepts a token with this permission."""
        return replace(self, permissions=(*self.permissions, (permission, level)))

    def enter(
        self, db: Connection, caller: Caller | None, values: Mapping[str, str], app: Row | None
    ) -> None:
        """Check that the caller may use the operation at all. Raises Forbidden or Missing."""
        if caller is not None:
            check_kind(self.kinds, caller)

    def see(self, db: Connection, caller: Caller | None, row: Row) -> None:
        """Check the caller against the first row of the path. Raises Forbidden or Missing."""

    def reach(self, db: Connection, caller: Caller | None, first: Row, last: Row) -> None:
        """Check the caller against the last row of the path. Raises Forbidden or Missing."""

    def owner_of(self, row: Row) -> int | None:
        """Return the account on which the first row of the path is; None if it is on none."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class OnUser(Access):
    """The authenticated user's own data."""

    owned: ClassVar[bool] = True

    def enter(
        self, db: Connection, caller: Caller | None, values: Mapping[str, str], app: Row | None
    ) -> None:
        assert caller is not None, "this access requires a token"
        check_kind(self.kinds, caller)
        check_token(self.permissions, caller, self.accepted)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn(Access):
    """Any user with a token. If scopes or permissions are declared, the token needs one of them."""

    @property
    def takes_scopes(self) -> bool:
        return bool(self.scopes)

    def enter(
        self, db: Connection, caller: Caller | None, values: Mapping[str, str], app: Row | None
    ) -> None:
        assert caller is not None, "this access requires a token"
        check_kind(self.kinds, caller)
        if self.scopes if caller.has_scopes else self.permissions:
            check_token(self.permissions, caller, self.accepted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Public(Access):
    """No restriction."""

    credentials: ClassVar[Credentials] = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyCaller(Access):
    """No restriction, also for the JSON web token of an app. No operation has this access.

    A user name and a password are not checked.
    """

    credentials: ClassVar[Credentials] = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class AsUser(Access):
    """A user with a password, never with a token."""

    credentials: ClassVar[Credentials] = "password"
    owned: ClassVar[bool] = True


def on_user(permission: str, level: str, *, scopes: tuple[str, ...]) -> OnUser:
    return OnUser(permissions=((permission, level),), scopes=scopes, kinds=USERS)


def signed_in(
    *permissions: Permission, scopes: tuple[str, ...] = (), kinds: tuple[str, ...] = USERS
) -> SignedIn:
    """Return access for every user with a token.

    A token with scopes needs one of `scopes`, if there are any. A token with permissions needs one
    of `permissions`, if there are any.
    """
    return SignedIn(permissions=permissions, scopes=scopes, kinds=kinds)


def public() -> Public:
    """Return access for everybody, with or without a token."""
    return Public(anyone=True)


def as_user() -> AsUser:
    """Return access with user name, password and, if the account needs it, a one-time password."""
    return AsUser(kinds=())
