"""Comments on issues and pull requests."""

from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict

from hub.api.issues import (
    issue_change_events,
    issue_part_serializers,
    issue_rules,
    issue_serializers,
)
from hub.api.issues.body_forms import FORMS, BodyForms
from hub.api.issues.comment_queries import CommentQuery, SortedCommentQuery, selection
from hub.api.issues.issue_part_serializers import IssueComment
from hub.api.issues.issue_rules import READ, Body
from hub.auth.repository_access import on_repo
from hub.http.errors import Forbidden
from hub.http.media import PLAIN, Media
from hub.rest.context import Context, Services
from hub.rest.group import OperationGroup
from hub.rest.interaction_check import check_interaction, check_text
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import simple_users
from store import Row
from store.errors import existing
from store.issues import comment_changes, comment_lists, issue_comments, issues
from store.issues.comment_lists import CommentSelection
from store.repositories import author_association

ops = OperationGroup("issues", comment_id=issue_comments.get, issue_number=issue_rules.find_issue)

COMMENT = on_repo("issues", "write", public_scopes=("public_repo",)).or_has(
    "pull_requests", "write"
)
CHANGE = (
    on_repo("issues", "write", role="write", public_scopes=("public_repo",))
    .or_has("pull_requests", "write")
    .or_author()
)


class CommentText(TypedDict):
    body: Body


async def check_body(services: Services, body: CommentText) -> None:
    """Check that a comment has a text. Raises Invalid."""
    check_text(body["body"], "IssueComment")


@ops("GET /repos/{owner}/{repo}/issues/{issue_number}/comments", READ, **FORMS)
def list_comments(
    ctx: Context, repo: Row, issue: Row, page: NumberedPaging, query: CommentQuery
) -> list[IssueComment]:
    """List issue comments

    The comments on an issue or a pull request, by id.
    """
    return _page(ctx, repo, page, selection("comment", query, issue_id=issue["id"]))


@ops("GET /repos/{owner}/{repo}/issues/comments", READ, **FORMS)
def list_comments_for_repo(
    ctx: Context, repo: Row, page: NumberedPaging, query: SortedCommentQuery
) -> list[IssueComment]:
    """List issue comments for a repository

    The comments on all issues and pull requests. `direction` counts only with `sort`.
    """
    return _page(ctx, repo, page, selection("comment", query, repo_id=repo["id"]))


def _page(
    ctx: Context, repo: Row, page: NumberedPaging, chosen: CommentSelection
) -> list[IssueComment]:
    page.count(lambda most: comment_lists.count(ctx.db, chosen, most))
    return serialize(ctx, repo, comment_lists.page(ctx.db, chosen, **page.bounds))


@ops("GET /repos/{owner}/{repo}/issues/comments/{comment_id}", READ, **FORMS)
def get_comment(ctx: Context, repo: Row, comment: Row) -> IssueComment:
    """Get an issue comment"""
    (one,) = serialize(ctx, repo, [comment])
    return one


def serialize(
    ctx: Context, repo: Row, rows: Sequence[Row], media: Media | None = None
) -> list[IssueComment]:
    """Serialize comments on issues in the requested form, or in another one."""
    forms = BodyForms(media or ctx.media)
    forms.prepare(ctx.db)
    about = issues.of(ctx.db, {row["issue_id"] for row in rows})
    known = {row[name] for row in rows for name in ("author_id", "pinned_by_id")}
    people = simple_users(ctx.urls, ctx.db, known)
    return [
        issue_part_serializers.comment(ctx.urls, repo, about[row["issue_id"]], row, people, forms)
        for row in rows
    ]


@ops(
    "POST /repos/{owner}/{repo}/issues/{issue_number}/comments",
    COMMENT,
    status=201,
    before=check_body,
    emits=("issue_comment.created",),
    created=True,
    **FORMS,
)
def create_comment(ctx: Context, repo: Row, issue: Row, body: CommentText) -> IssueComment:
    """Create an issue comment

    403 if the issue is locked and the caller may not write, or if an interaction limit excludes
    the caller.
    """
    row = issue_rules.opened(ctx, repo, issue)
    author_id = ctx.required_caller.account_id
    if row["locked"] and not issue_rules.may(ctx, repo, "write"):
        raise Forbidden("Unable to create comment because issue is locked.")
    check_interaction(ctx.db, repo, author_id)
    association = author_association.association_of(ctx.db, repo, author_id)
    comment = comment_changes.create(
        ctx.db, repo, row, author_id, body["body"], association=association
    )
    return _emit(ctx, repo, comment, "created")


@ops(
    "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}",
    CHANGE,
    before=check_body,
    emits=("issue_comment.edited",),
    **FORMS,
)
def update_comment(ctx: Context, repo: Row, comment: Row, body: CommentText) -> IssueComment:
    """Update an issue comment"""
    issue = issue_rules.opened(ctx, repo, {"id": comment["issue_id"]})
    before = existing(issue_comments.of(ctx.db, [comment["id"]]).get(comment["id"]), "comment")
    if before["body"] == body["body"]:
        (one,) = serialize(ctx, repo, [before])
        return one
    by = ctx.required_caller.account_id
    after = comment_changes.update(ctx.db, repo, issue, before, by, body["body"])
    return _emit(ctx, repo, after, "edited", changes={"body": {"from": before["body"]}})


@ops(
    "DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}",
    CHANGE,
    emits=("issue_comment.deleted",),
)
def delete_comment(ctx: Context, repo: Row, comment: Row) -> None:
    """Delete an issue comment"""
    issue = issue_rules.opened(ctx, repo, {"id": comment["issue_id"]})
    comment_changes.delete(ctx.db, issue, comment)
    _emit(ctx, repo, comment, "deleted")


def _emit(ctx: Context, repo: Row, comment: Row, action: str, **members: Any) -> IssueComment:
    """Emit a comment's event. Return the comment in the requested form."""
    issue = issues.of(ctx.db, [comment["issue_id"]])[comment["issue_id"]]
    whole = issue_serializers.several(ctx.urls, ctx.db, repo, [issue])[issue["id"]]
    (plain,) = serialize(ctx, repo, [comment], PLAIN)
    within = issue_change_events.organization(ctx, repo)
    ctx.emit(f"issue_comment.{action}", repo, issue=whole, comment=plain, **members, **within)
    return serialize(ctx, repo, [comment])[0]
