"""Comments on issues and pull requests."""

from collections.abc import Sequence

from typing_extensions import TypedDict

from hub.api.issues import issue_part_serializers
from hub.api.issues.issue_part_serializers import IssueComment
from hub.auth.access import on_repo
from hub.rest.body_forms import FORMS, BodyForms
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import simple_users
from hub.rest.validation import Moment
from store import Row
from store.issues import issue_comments, issues

ops = OperationGroup("issues", comment_id=issue_comments.get, issue_number=issues.get)

READ = on_repo("issues", "read").or_has("pull_requests", "read").or_anyone()


class CommentQuery(TypedDict, total=False):
    """A filter: only comments that were updated since this time."""

    since: Moment


@ops("GET /repos/{owner}/{repo}/issues/{issue_number}/comments", READ, **FORMS)
def list_comments(
    ctx: Context, repo: Row, issue: Row, page: NumberedPaging, query: CommentQuery
) -> list[IssueComment]:
    """List issue comments

    The comments on an issue or a pull request, by id.
    """
    since = query.get("since")
    page.count(lambda most: issue_comments.count(ctx.db, issue["id"], since=since, most=most))
    rows = issue_comments.page(
        ctx.db, issue["id"], since=since, limit=page.limit, offset=page.offset
    )
    return shown(ctx, repo, issue, rows)


@ops("GET /repos/{owner}/{repo}/issues/comments/{comment_id}", READ, **FORMS)
def get_comment(ctx: Context, repo: Row, comment: Row) -> IssueComment:
    """Get an issue comment"""
    issue = issues.of(ctx.db, [comment["issue_id"]])[comment["issue_id"]]
    (one,) = shown(ctx, repo, issue, [comment])
    return one


def shown(ctx: Context, repo: Row, issue: Row, rows: Sequence[Row]) -> list[IssueComment]:
    """Serialize comments on one issue in the requested form."""
    forms = BodyForms(ctx.media)
    forms.prepare(ctx.db)
    known = {row[name] for row in rows for name in ("author_id", "pinned_by_id")}
    people = simple_users(ctx.urls, ctx.db, known)
    return [
        issue_part_serializers.comment(ctx.urls, repo, issue, row, people, forms) for row in rows
    ]
