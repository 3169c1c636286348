"""Assignees of issues and pull requests."""

from typing_extensions import TypedDict

from hub.api.issues import issue_change_events, issue_rules, issue_serializers
from hub.api.issues.body_forms import FORMS
from hub.api.issues.issue_rules import READ, WRITE, Logins
from hub.api.issues.issue_serializers import Issue
from hub.auth import repository_access
from hub.auth.organization_access import may_do
from hub.http.errors import Forbidden
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import SimpleUser, simple_user
from store import Row
from store.accounts import accounts
from store.errors import Missing
from store.issues import issue_changes, issues
from store.repositories import assignable

ops = OperationGroup("issues", issue_number=issue_rules.find_issue, username=accounts.by_login)


class AssigneesBody(TypedDict, total=False):
    """Users by login."""

    assignees: Logins


@ops("GET /repos/{owner}/{repo}/assignees", READ)
def list_assignees(ctx: Context, repo: Row, page: NumberedPaging) -> list[SimpleUser]:
    """List assignees

    The users who can be assigned to issues: the owner, the members of the organization, and
    collaborators who may write. Concealed members are listed for callers who may assign them, and
    for other members with a token that has the scope `read:org` or the permission `members` (read).
    """
    all_of_them = _sees_concealed(ctx, repo)
    page.count(lambda most: assignable.count(ctx.db, repo, most, concealed=all_of_them))
    rows = assignable.page(ctx.db, repo, concealed=all_of_them, total=page.total, **page.bounds)
    return [simple_user(ctx.urls, row) for row in rows]


@ops("GET /repos/{owner}/{repo}/assignees/{username}", READ)
def check_user_can_be_assigned(ctx: Context, repo: Row, username: Row) -> None:
    """Check if a user can be assigned

    404 if not, and for concealed members whom the caller would not find in the list.
    """
    concealed = _sees_concealed(ctx, repo)
    if not assignable.among(ctx.db, repo, [username["login"]], concealed=concealed):
        raise Missing("assignee")


def _sees_concealed(ctx: Context, repo: Row) -> bool:
    """Return whether the caller may know the concealed members of the repository's owner."""
    if ctx.caller is None:
        return False
    owner = {"id": repo["owner_id"]}
    if may_do(ctx.db, ctx.caller, owner, ("members", "read"), "read:org") is not None:
        return True
    try:
        repository_access.check(ctx.db, WRITE, ctx.caller, repo)
    except Forbidden:
        return False
    return True


@ops(
    "POST /repos/{owner}/{repo}/issues/{issue_number}/assignees",
    WRITE,
    status=201,
    emits=issue_change_events.events("assigned"),
    created=True,
    **FORMS,
)
def add_assignees(ctx: Context, repo: Row, issue: Row, body: AssigneesBody) -> Issue:
    """Add assignees to an issue

    An issue can have at most 10. Users who cannot be assigned are left out.
    """
    row = issue_rules.opened(ctx, repo, issue)
    added = assignable.among(ctx.db, repo, body.get("assignees", ())).values()
    held = issues.assignees(ctx.db, [row["id"]]).get(row["id"], [])
    return _set(ctx, repo, row, [*held, *(one["id"] for one in added)])


@ops(
    "DELETE /repos/{owner}/{repo}/issues/{issue_number}/assignees",
    WRITE,
    emits=issue_change_events.events("unassigned"),
    **FORMS,
)
def remove_assignees(ctx: Context, repo: Row, issue: Row, body: AssigneesBody) -> Issue:
    """Remove assignees from an issue

    Users who are not assigned are left out.
    """
    row = issue_rules.opened(ctx, repo, issue)
    gone = accounts.by_logins(ctx.db, body.get("assignees", ())).values()
    ids = {one["id"] for one in gone}
    held = issues.assignees(ctx.db, [row["id"]]).get(row["id"], [])
    return _set(ctx, repo, row, [one for one in held if one not in ids])


def _set(ctx: Context, repo: Row, issue: Row, wanted: list[int]) -> Issue:
    after = [*dict.fromkeys(wanted)]
    issue_rules.check_assignees(after)
    changes = issue_changes.set_assignees(ctx.db, issue, ctx.required_caller.account_id, after)
    row = issue_change_events.emit(ctx, repo, issue["id"], changes)
    return issue_serializers.several(ctx.urls, ctx.db, repo, [row], ctx.media)[row["id"]]
