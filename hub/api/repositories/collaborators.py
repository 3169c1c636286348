"""The collaborators of repositories, and what they may do."""

from typing import Literal

from typing_extensions import TypedDict

from hub.api.repositories import full_serializers
from hub.api.repositories.full_serializers import COARSE, PERMISSIONS, RepositoryPermissions
from hub.auth.repository_access import on_repo
from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import SimpleUser
from store import Row
from store.accounts import accounts
from store.errors import Missing
from store.repositories import collaborators, repositories

ops = OperationGroup("repos", username=accounts.by_login)

WRITER = on_repo("metadata", "read", role="write")
PUSHER = WRITER.refusing("Must have push access to view collaborator permission.")


class CollaboratorQuery(TypedDict, total=False):
    """`direct` leaves out the members of the organization who were granted no role.

    `outside` lists the collaborators who are no members. `permission` is the least one.
    """

    affiliation: Literal["outside", "direct", "all"]
    permission: Literal["pull", "triage", "push", "maintain", "admin"]


class Collaborator(SimpleUser):
    permissions: RepositoryPermissions
    role_name: str


class CollaboratorPermission(TypedDict):
    """`permission` is admin, write, read or none; `role_name` is the exact role."""

    permission: Literal["admin", "write", "read", "none"]
    role_name: str
    user: Collaborator


@ops("GET /repos/{owner}/{repo}/collaborators", WRITER)
def list_collaborators(
    ctx: Context, repo: Row, page: NumberedPaging, query: CollaboratorQuery
) -> list[Collaborator]:
    """List repository collaborators

    The owner, the members of the organization that owns the repository, and everybody who was
    granted a role.
    """
    affiliation = query.get("affiliation", "all")
    least = PERMISSIONS[query.get("permission", "pull")]
    page.count(lambda most: collaborators.count(ctx.db, repo, affiliation, least, most))
    rows = collaborators.page(ctx.db, repo, affiliation, least, total=page.total, **page.bounds)
    return [_serialize(ctx, row, row["role"]) for row in rows]


@ops("GET /repos/{owner}/{repo}/collaborators/{username}", WRITER)
def check_collaborator(ctx: Context, repo: Row, username: Row) -> None:
    """Check if a user is a repository collaborator

    404 if the user has no role but the one that everybody has.
    """
    if not collaborators.belongs(ctx.db, repo, username):
        raise Missing("collaborator")


@ops("GET /repos/{owner}/{repo}/collaborators/{username}/permission", PUSHER)
def get_collaborator_permission_level(
    ctx: Context, repo: Row, username: Row
) -> CollaboratorPermission:
    """Get repository permissions for a user

    Everybody may read a public repository.
    """
    role = repositories.role_of(ctx.db, repo, username)
    return {
        "permission": COARSE.get(role or "", "none"),  # type: ignore[typeddict-item] # from COARSE
        "role_name": role or "none",
        "user": _serialize(ctx, username, role),
    }


def _serialize(ctx: Context, account: Row, role: str | None) -> Collaborator:
    return {
        **serializers.simple_user(ctx.urls, account),
        "permissions": full_serializers.permissions(role),
        "role_name": role or "none",
    }
