"""What a caller needs for an operation, and the check of it. There is no default.

Where an operation's thing is decides whose word counts: a role in a repository (`on_repo`), in an
organization (`organization_access`), the user's own things (`on_user`), nobody's in particular
(`public`), a user with a password (`as_user`), an application with its secret (`as_app`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from hub.auth.credentials import Caller
from hub.http.errors import Forbidden, SignOnRequired
from hub.http.response import Header, header
from store import Connection, Row
from store.accounts import sso, tokens
from store.errors import Missing
from store.repositories import repositories

REFUSALS = {
    "admin": "Must have admin rights to Repository.",
    "write": "Must have push access to Repository.",
}
RESOURCE = "Resource not accessible by "
KINDS = {
    "personal": "personal access token",
    "fine_grained": "personal access token",
    "oauth": "OAuth app",
    "app_user": "integration",
    "installation": "integration",
}
"""What clients know the kinds of token as."""
PERMISSIONLESS = "allows_permissionless_access=true"

ALL = tuple(tokens.KINDS)
USERS = tuple(kind for kind in ALL if kind != "installation")
"""Kinds of token that speak for a user."""
CLASSIC = ("personal", "oauth")
"""Kinds of token that have scopes."""

Credentials = Literal["token", "any", "password", "app"]
Permission = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What holds for every kind of access: for tokens with permissions, one of `permissions` (name
    and level); for those with scopes one of `scopes`, or of `public_scopes` where the thing is
    public. `anyone` may be somebody without a name: nobody else comes in without a scope.
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
        assert all(level in tokens.LEVELS for _, level in self.permissions), self.permissions
        assert set(self.scopes + self.public_scopes) <= tokens.SCOPES, self.scopes
        assert set(self.kinds) <= set(ALL), self.kinds
        assert self.scopes or not self.takes_scopes, "which scope stands for the permission?"

    @property
    def takes_scopes(self) -> bool:
        """Whether tokens with scopes are let in for them, and not as anybody is."""
        return not self.anyone and not set(CLASSIC).isdisjoint(self.kinds)

    @property
    def accepted(self) -> tuple[str, ...]:
        """Every scope that can do."""
        return self.scopes + self.public_scopes

    def headers(self, caller: Caller) -> list[Header]:
        """What a client is told of its token's scopes, and of what would do; nothing would where
        tokens of its kind are refused.
        """
        told, taken = [], caller.kind in self.kinds
        if caller.has_scopes:
            told.append(header("X-OAuth-Scopes", ", ".join(sorted(caller.scopes))))
            if taken:
                told.append(header("X-Accepted-OAuth-Scopes", ", ".join(self.accepted)))
        elif taken:
            held = "; ".join(f"{name}={level}" for name, level in self.permissions)
            told.append(header("X-Accepted-Service-Permissions", held or PERMISSIONLESS))
        return told

    @property
    def standing(self) -> str | None:
        """What the caller has to be, in a sentence."""
        return None if self.role is None else f"Role in the repository: {self.role}."

    def or_has(self, permission: str, level: str) -> Self:
        """Also a token with this permission."""
        return replace(self, permissions=(*self.permissions, (permission, level)))

    def enter(
        self, db: Connection, caller: Caller | None, values: Mapping[str, str], app: Row | None
    ) -> None:
        """Let pass who may use the operation at all. Forbidden, Missing."""
        if caller is not None:
            check_kind(self.kinds, caller)

    def see(self, db: Connection, caller: Caller | None, row: Row) -> None:
        """Let pass who may do it to what the path names first. Forbidden, Missing."""

    def reach(self, db: Connection, caller: Caller | None, first: Row, last: Row) -> None:
        """Let pass who may do it to what the path names last. Forbidden."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRepo(Access):
    """A role in the repository that the path names first; with `author`, who may look will do,
    where what the path names last is theirs (its `author_id`).
    """

    author: bool = False

    def or_anyone(self) -> Self:
        """Also who gives no name, where the repository is public."""
        return replace(self, anyone=True)

    def or_author(self) -> Self:
        """Also who made it."""
        return replace(self, author=True)

    def see(self, db: Connection, caller: Caller | None, row: Row) -> None:
        check(db, self, caller, row, "read" if self.author else self.role)

    def reach(self, db: Connection, caller: Caller | None, first: Row, last: Row) -> None:
        if self.author and (caller is None or last["author_id"] != caller.account_id):
            check(db, self, caller, first, self.role)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnUser(Access):
    """What is the authenticated user's own."""

    owned: ClassVar[bool] = True

    def enter(
        self, db: Connection, caller: Caller | None, values: Mapping[str, str], app: Row | None
    ) -> None:
        assert caller is not None, "a user's own things are asked for with a token"
        check_kind(self.kinds, caller)
        check_token(self, caller, self.accepted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Public(Access):
    """Anybody's."""

    credentials: ClassVar[Credentials] = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class AsUser(Access):
    """A user with a password, never a token."""

    credentials: ClassVar[Credentials] = "password"
    owned: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AsApp(Access):
    """An application with its secret; a `{client_id}` in the path is its own."""

    credentials: ClassVar[Credentials] = "app"

    def enter(
        self, db: Connection, caller: Caller | None, values: Mapping[str, str], app: Row | None
    ) -> None:
        assert app is not None, "an application is asked for before this"
        if values.get("client_id", app["client_id"]) != app["client_id"]:
            raise Missing("application")


def on_repo(
    permission: str,
    level: str,
    *,
    role: str = "read",
    scopes: tuple[str, ...] = ("repo",),
    public_scopes: tuple[str, ...] = (),
    kinds: tuple[str, ...] = ALL,
) -> OnRepo:
    """Access to something in a repository."""
    return OnRepo(
        permissions=((permission, level),),
        role=role,
        scopes=scopes,
        public_scopes=public_scopes,
        kinds=kinds,
    )


def on_user(
    permission: str, level: str, *, scopes: tuple[str, ...], kinds: tuple[str, ...] = USERS
) -> OnUser:
    """Access to something of the authenticated user."""
    return OnUser(permissions=((permission, level),), scopes=scopes, kinds=kinds)


def public() -> Public:
    """Access for anybody, with a token or without."""
    return Public(anyone=True)


def as_user() -> AsUser:
    """Access with username and password, and a one-time password where that is on."""
    return AsUser(kinds=())


def as_app() -> AsApp:
    """Access with an application's client id and client secret."""
    return AsApp(kinds=())


def check(
    db: Connection, access: OnRepo, caller: Caller | None, repo: Row, needed: str | None = None
) -> None:
    """Let pass who may, and has the role that is needed: without one, that of the access.

    Missing for a repository that may not be seen, otherwise Forbidden.
    """
    role = _role(db, access, caller, repo)
    if role is None:
        raise Missing("repository")
    if caller is not None and (repo["private"] or not access.anyone):
        _check_in_repo(db, access, caller, repo)
    needed = needed or access.role or "read"
    if not repositories.at_least(role, needed):
        raise Forbidden(REFUSALS.get(needed, f"Must have {needed} rights to Repository."))


def may_see(db: Connection, access: OnRepo, caller: Caller | None, repo: Row) -> bool:
    """Whether the repository is there at all, for this caller."""
    return _role(db, access, caller, repo) is not None


def _role(db: Connection, access: OnRepo, caller: Caller | None, repo: Row) -> str | None:
    """The caller's role. A token without the scope, or for other repositories, sees no private
    one, whatever its account may see.
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
        raise Forbidden(_not_accessible(caller))
    check_token(access, caller, access.scopes if repo["private"] else access.accepted)
    if repo["owner_kind"] == "Organization":
        check_sign_on(db, caller, repo["owner_id"], repo["owner"])


def check_sign_on(db: Connection, caller: Caller, organization_id: int, login: str) -> None:
    """Unsigned for a token that an organization with single sign-on did not let in; those of
    installations are its own.
    """
    if caller.token_id is None or caller.kind == "installation":
        return
    if not sso.permits(db, organization_id, caller.token_id):
        raise SignOnRequired(login)


def check_kind(kinds: Iterable[str], caller: Caller) -> None:
    """Forbidden for a token of a kind that the operation does not take."""
    if caller.kind not in kinds and caller.kind in ALL:
        raise Forbidden(_not_accessible(caller))


def check_token(access: Access, caller: Caller, scopes: tuple[str, ...]) -> None:
    """Forbidden for a token without one of the permissions, or of these scopes."""
    if caller.has_scopes:
        check_scopes(caller, scopes)
    elif not suffices(access, caller, scopes):
        raise Forbidden(_not_accessible(caller))


def check_scopes(caller: Caller, scopes: tuple[str, ...]) -> None:
    """Forbidden for a token that has, or includes, none of these scopes."""
    if not covers(caller, scopes):
        raise Forbidden(f"This needs a token with one of these scopes: {', '.join(scopes)}.")


def suffices(access: Access, caller: Caller, scopes: tuple[str, ...]) -> bool:
    """Whether a token has one of the permissions, or of these scopes."""
    if caller.has_scopes:
        return covers(caller, scopes)
    return any(_has_permission(caller, name, level) for name, level in access.permissions)


def covers(caller: Caller, scopes: Iterable[str]) -> bool:
    """Whether the token has or includes one of these scopes."""
    return any(tokens.implies(caller.scopes, scope) for scope in scopes)


def _has_permission(caller: Caller, name: str, level: str) -> bool:
    held: Any = caller.permissions.get(name)
    return held is not None and tokens.LEVELS.index(held) >= tokens.LEVELS.index(level)


def _not_accessible(caller: Caller) -> str:
    return RESOURCE + KINDS[caller.kind]
