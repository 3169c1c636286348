"""The full representation of repositories, with the caller's permissions."""

from collections.abc import Sequence
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from hub.auth.credentials import Caller
from hub.rest import repository_serializers, serializers
from hub.rest.context import Context
from hub.rest.repository_serializers import DetailedRepository, MinimalRepository
from hub.rest.serializers import SimpleUser
from store import Row
from store.accounts import accounts
from store.accounts.permissions import includes
from store.repositories import collaborators
from store.repositories.repositories import at_least

PERMISSIONS = {
    "admin": "admin",
    "maintain": "maintain",
    "push": "write",
    "triage": "triage",
    "pull": "read",
}
"""The names that clients know for roles."""

# Older clients know three permissions only.
COARSE = {"admin": "admin", "maintain": "write", "write": "write", "triage": "read", "read": "read"}


class RepositoryPermissions(TypedDict):
    admin: bool
    maintain: bool
    push: bool
    triage: bool
    pull: bool


class ListedRepository(MinimalRepository):
    """A repository in its short form. `permissions` follow from the caller's role."""

    permissions: NotRequired[RepositoryPermissions]


class Repository(ListedRepository, DetailedRepository):
    """A repository.

    `open_issues` counts pull requests too. `pushed_at` is the time of creation if nothing was
    pushed. `has_downloads` is false.
    """


class FullRepository(Repository):
    network_count: int
    organization: NotRequired[SimpleUser]


def permissions(role: str | None) -> RepositoryPermissions:
    """Return what the role permits, by the names that clients know."""
    found = {name: at_least(role, least) for name, least in PERMISSIONS.items()}
    return cast("RepositoryPermissions", found)


def listed(ctx: Context, repos: Sequence[Row]) -> list[ListedRepository]:
    """Serialize repositories of a list in their short form."""
    shown = repository_serializers.repositories(ctx.urls, ctx.db, repos)
    return cast("list[ListedRepository]", _permitted(ctx, repos, shown))


def several(ctx: Context, repos: Sequence[Row]) -> list[Repository]:
    """Serialize repositories, with as few statements as for one."""
    shown = repository_serializers.detailed(ctx.urls, ctx.db, repos)
    return cast("list[Repository]", _permitted(ctx, repos, shown))


def full(ctx: Context, repo: Row) -> FullRepository:
    """Serialize a repository with everything that is known about it."""
    (shown,) = several(ctx, [repo])
    found = {**shown, "network_count": repo["forks"]}
    if repo["owner_kind"] == "Organization":
        owner = accounts.required(ctx.db, repo["owner_id"])
        found["organization"] = serializers.simple_user(ctx.urls, owner)
    return cast("FullRepository", found)


def _permitted(
    ctx: Context, repos: Sequence[Row], shown: Sequence[MinimalRepository]
) -> list[dict[str, Any]]:
    allowed = _permissions(ctx, ctx.caller, repos)
    return [{**one, **allowed[one["id"]]} for one in shown]


def _permissions(
    ctx: Context, caller: Caller | None, repos: Sequence[Row]
) -> dict[int, dict[str, Any]]:
    if caller is None:
        return {repo["id"]: {} for repo in repos}
    if caller.installation_id is not None:
        held = permissions(_role_of_installation(caller))
        return {repo["id"]: {"permissions": held} for repo in repos}
    roles = collaborators.roles_of(ctx.db, repos, caller.account)
    return {repo["id"]: {"permissions": permissions(roles[repo["id"]])} for repo in repos}


def _role_of_installation(caller: Caller) -> str:
    """Return the role that comes nearest to an installation's permissions."""
    if includes(caller.permissions, "administration", "write"):
        return "admin"
    return "write" if includes(caller.permissions, "contents", "write") else "read"
