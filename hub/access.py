"""What a caller needs for an operation, and the check of it. There is no default."""

from dataclasses import dataclass, replace

from hub.auth import Caller
from hub.errors import Forbidden
from store import Connection, Row, repositories, tokens
from store.errors import Missing

REFUSALS = {
    "admin": "Must have admin rights to Repository.",
    "write": "Must have push access to Repository.",
}
RESOURCE = "Resource not accessible by "


@dataclass(frozen=True, slots=True)
class Access:
    """A role in the repository, and a token that may use it: for tokens with permissions, the
    `permission` at its `level`; for those with scopes, one of `scopes`, or of `public_scopes`
    where the repository is public.
    """

    permission: str
    level: str
    role: str
    scopes: tuple[str, ...]
    public_scopes: tuple[str, ...] = ()
    anyone: bool = False

    def or_anyone(self) -> "Access":
        """Also who gives no name, where the repository is public."""
        return replace(self, anyone=True)

    @property
    def accepted(self) -> tuple[str, ...]:
        """Every scope that can do."""
        return self.scopes + self.public_scopes


def on_repo(
    permission: str,
    level: str,
    *,
    role: str = "read",
    scopes: tuple[str, ...] = ("repo",),
    public_scopes: tuple[str, ...] = (),
) -> Access:
    """Access to something in a repository."""
    assert level in tokens.LEVELS, level
    assert role in repositories.ROLES, role
    assert set(scopes + public_scopes) <= tokens.SCOPES, scopes
    return Access(permission, level, role, scopes, public_scopes)


def check(db: Connection, access: Access, caller: Caller | None, repo: Row) -> None:
    """Let pass who may. Missing for a repository that may not be seen, otherwise Forbidden.

    A token without the scope sees no private repository, whatever its account may see.
    """
    role = repositories.role_of(db, repo, caller.account if caller else None)
    if role is None:
        raise Missing("repository")
    if caller is not None:
        _check_token(access, caller, private=bool(repo["private"]))
    if not repositories.at_least(role, access.role):
        raise Forbidden(REFUSALS.get(access.role, f"Must have {access.role} rights to Repository."))


def _check_token(access: Access, caller: Caller, *, private: bool) -> None:
    if access.anyone and not private:
        return
    if not caller.scoped:
        _check_permission(access, caller)
        return
    accepted = access.scopes if private else access.accepted
    if any(tokens.implies(caller.scopes, scope) for scope in accepted):
        return
    if private:
        raise Missing("repository")
    raise Forbidden(f"This needs a token with one of these scopes: {', '.join(accepted)}.")


def _check_permission(access: Access, caller: Caller) -> None:
    held = caller.permissions.get(access.permission)
    if held is None or tokens.LEVELS.index(held) < tokens.LEVELS.index(access.level):
        fine = caller.kind == "fine_grained"
        raise Forbidden(RESOURCE + ("personal access token" if fine else "integration"))
