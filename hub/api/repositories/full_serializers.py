"""The full representation of repositories, with the caller's permissions."""

from collections.abc import Sequence
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from hub.auth.credentials import Caller
from hub.rest import repository_serializers, serializers
from hub.rest.context import Context
from hub.rest.repository_serializers import MinimalRepository
from hub.rest.serializers import SimpleUser
from store import Row
from store.accounts import accounts
from store.accounts.permissions import includes
from store.clock import iso
from store.repositories import collaborators, repository_details
from store.repositories.repositories import at_least
from store.repositories.repository_details import FEATURES

PERMISSIONS = {
    "admin": "admin",
    "maintain": "maintain",
    "push": "write",
    "triage": "triage",
    "pull": "read",
}
"""The names that clients know for roles."""


class RepositoryPermissions(TypedDict):
    admin: bool
    maintain: bool
    push: bool
    triage: bool
    pull: bool


class ListedRepository(MinimalRepository):
    """A repository in its short form. `permissions` follow from the caller's role."""

    permissions: NotRequired[RepositoryPermissions]


class Repository(ListedRepository):
    """A repository.

    `open_issues` counts pull requests too. `pushed_at` is the time of creation if nothing was
    pushed.
    """

    has_issues: bool
    has_projects: bool
    has_wiki: bool
    has_pages: bool
    has_discussions: bool
    is_template: bool
    disabled: bool
    mirror_url: str | None
    svn_url: str
    open_issues: int
    open_issues_count: int


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
    allowed = _permissions(ctx, ctx.caller, repos)
    return [cast("ListedRepository", {**one, **allowed[one["id"]]}) for one in shown]


def several(ctx: Context, repos: Sequence[Row]) -> list[Repository]:
    """Serialize repositories, with as few statements as for one."""
    known = repository_details.details(ctx.db, [repo["id"] for repo in repos])
    return [
        cast("Repository", {**one, **_details(ctx, repo, known[repo["id"]])})
        for one, repo in zip(listed(ctx, repos), repos, strict=True)
    ]


def full(ctx: Context, repo: Row) -> FullRepository:
    """Serialize a repository with everything that is known about it."""
    (shown,) = several(ctx, [repo])
    found = {**shown, "network_count": repo["forks"]}
    if repo["owner_kind"] == "Organization":
        owner = accounts.get(ctx.db, repo["owner_id"])
        assert owner is not None, "a repository has an owner"
        found["organization"] = serializers.simple_user(ctx.urls, owner)
    return cast("FullRepository", found)


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


def _details(ctx: Context, repo: Row, known: Row) -> dict[str, Any]:
    return {
        **{name: bool(known[name]) for name in FEATURES},
        "mirror_url": known["mirror_url"],
        "svn_url": ctx.urls.page(repo),
        "open_issues": known["open_issues"],
        "open_issues_count": known["open_issues"],
        "pushed_at": iso(repo["pushed_at"] or repo["created_at"]),
    }
