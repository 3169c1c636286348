"""The teams that have access to a repository."""

from hub.api.enterprises import team_serializers
from hub.api.enterprises.team_serializers import ListedTeam
from hub.api.repositories import full_serializers
from hub.api.repositories.full_serializers import PERMISSIONS, RepositoryPermissions
from hub.auth.repository_access import on_repo
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from store import Row
from store.accounts import accounts, organizations
from store.enterprises import team_repositories

ops = OperationGroup("repos")

READ = on_repo("administration", "read", public_scopes=("public_repo",))
# Role to the permission's name.
NAMES = {role: name for name, role in PERMISSIONS.items()}


class RepositoryTeam(ListedTeam):
    """A team with access to the repository. `permission` is the one that it has there."""

    permissions: RepositoryPermissions


@ops("GET /repos/{owner}/{repo}/teams", READ)
def list_teams(ctx: Context, repo: Row, page: NumberedPaging) -> list[RepositoryTeam]:
    """List repository teams

    The teams that the caller may see, as a member of the organization that owns the repository.
    """
    viewer = _viewer(ctx, repo)
    owner = accounts.get(ctx.db, repo["owner_id"])
    if viewer is None or owner is None:
        return []
    page.total = team_repositories.count(ctx.db, repo, viewer)
    rows = team_repositories.page(ctx.db, repo, viewer, total=page.total, **page.bounds)
    return [
        {
            **team_serializers.listed(ctx.urls, owner, row),
            "permission": NAMES[row["role"]],
            "permissions": full_serializers.permissions(row["role"]),
        }
        for row in rows
    ]


def _viewer(ctx: Context, repo: Row) -> Row | None:
    """Return the caller as a member of the repository's organization; None if it is none."""
    if repo["owner_kind"] != "Organization":
        return None
    owner = {"id": repo["owner_id"]}
    role = organizations.role_of(ctx.db, owner, ctx.required_caller.account)
    return (
        None if role is None else {"id": ctx.required_caller.account_id, "owner": role == "admin"}
    )
