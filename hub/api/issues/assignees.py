"""Assignees of issues and pull requests."""

from hub.auth.access import on_repo
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import SimpleUser, simple_user
from store import Row
from store.repositories import assignable

ops = OperationGroup("issues")

READ = on_repo("issues", "read").or_has("pull_requests", "read").or_anyone()


@ops("GET /repos/{owner}/{repo}/assignees", READ)
def list_assignees(ctx: Context, repo: Row, page: NumberedPaging) -> list[SimpleUser]:
    """List assignees

    The users who can be assigned to issues: the owner, the members of the organization, and
    collaborators who may write.
    """
    page.count(lambda most: assignable.count(ctx.db, repo, most))
    rows = assignable.page(ctx.db, repo, limit=page.limit, offset=page.offset)
    return [simple_user(ctx.urls, row) for row in rows]
