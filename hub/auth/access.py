"""The permissions that an operation requires, and the check of them. There is no default.

The kind of access depends on the resource: a role in a repository (`on_repo`) or in an organization
(`organization_access`), the user's own data (`on_user`), no restriction (`public`), a user with a
password (`as_user`), or an app (`app_access`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from hub.auth.credentials import Caller
from hub.auth.token_rights import (
    ALL,
    CLASSIC,
    USERS,
    Permission,
    check_kind,
    check_sign_on,
    check_token,
    covers,
    not_accessible,
)
from hub.http.errors import Forbidden
from hub.http.response import Header, header
from store import Connection, Row
from store.accounts import tokens
from store.accounts.permissions import LEVELS
from store.clock import spaced
from store.errors import Missing
from store.repositories import repositories

REFUSALS = {
    "admin": "Must have admin rights to Repository.",
    "write": "Must have push access to Repository.",
}
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
class OnRepo(Access):
    """A role in the repository that the path names first.

    With `author`, the author of the path's last row (its `author_id`) only needs to see the
    repository.
    """

    author: bool = False
    refusal: str | None = None
    """The message for a caller without the role; None for the usual one."""

    def or_anyone(self) -> Self:
        """Return an access that also allows requests without credentials to public repositories."""
        return replace(self, anyone=True)

    def or_author(self) -> Self:
        """Return an access that also allows the author."""
        return replace(self, author=True)

    def refusing(self, message: str) -> Self:
        """Return an access that refuses a caller without the role with this message."""
        return replace(self, refusal=message)

    def see(self, db: Connection, caller: Caller | None, row: Row) -> None:
        check(db, self, caller, row, "read" if self.author else self.role)

    def reach(self, db: Connection, caller: Caller | None, first: Row, last: Row) -> None:
        if self.author and (caller is None or last["author_id"] != caller.account_id):
            check(db, self, caller, first, self.role)

    def owner_of(self, row: Row) -> int | None:
        return int(row["owner_id"])


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


def on_repo(
    permission: str,
    level: str,
    *,
    role: str = "read",
    scopes: tuple[str, ...] = ("repo",),
    public_scopes: tuple[str, ...] = (),
    kinds: tuple[str, ...] = ALL,
) -> OnRepo:
    """Return access to a resource in a repository."""
    return OnRepo(
        permissions=((permission, level),),
        role=role,
        scopes=scopes,
        public_scopes=public_scopes,
        kinds=kinds,
    )


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


def check(
    db: Connection, access: OnRepo, caller: Caller | None, repo: Row, needed: str | None = None
) -> None:
    """Check that the caller has the role `needed`, or otherwise the role of `access`.

    Raises Missing if the caller may not see the repository, and Forbidden for any other reason.
    """
    caller = caller and caller.within(db, repo["owner_id"])
    role = _role(db, access, caller, repo)
    if role is None:
        raise Missing("repository")
    # An installation needs its permission even for what anybody may see.
    if caller is not None and (
        repo["private"] or not access.anyone or caller.installation_id is not None
    ):
        _check_in_repo(db, access, caller, repo)
    needed = needed or access.role or "read"
    if not repositories.at_least(role, needed):
        usual = REFUSALS.get(needed, f"Must have {needed} rights to Repository.")
        raise Forbidden(access.refusal or usual)


def may_see(db: Connection, access: OnRepo, caller: Caller | None, repo: Row) -> bool:
    """Return whether the caller may know that the repository exists."""
    return _role(db, access, caller and caller.within(db, repo["owner_id"]), repo) is not None


def _role(db: Connection, access: OnRepo, caller: Caller | None, repo: Row) -> str | None:
    """Return the caller's role, or None if the caller may not see the repository.

    A token that lacks the scope, or is for other repositories, sees no private repository, whatever
    its account may see. An installation sees no other repository, even if it is public.
    """
    if repo["private"] and caller is not None:
        if not caller.reaches(repo):
            return None
        if caller.has_scopes and not covers(caller, access.scopes):
            return None
    return repositories.role_of(db, repo, caller.account if caller else None)


def _check_in_repo(db: Connection, access: OnRepo, caller: Caller, repo: Row) -> None:
    check_kind(access.kinds, caller)
    if not caller.reaches(repo):
        raise Forbidden(not_accessible(caller))
    check_token(access.permissions, caller, access.scopes if repo["private"] else access.accepted)
    if repo["owner_kind"] == "Organization":
        check_sign_on(db, caller, repo["owner_id"], repo["owner"])
