"""Comments on lines of pull requests, as events of a platform reported them."""

from collections.abc import Sequence
from typing import cast

from hub.api.issues.body_forms import FORMS, BodyForms
from hub.api.issues.comment_queries import SortedCommentQuery, selection
from hub.api.pulls import line_comment_serializers
from hub.api.pulls.line_comment_serializers import LineComment
from hub.api.pulls.pull_rules import READ
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import simple_users
from store import Row
from store.issues import comment_lists, issue_comments, issues, pulls
from store.issues.comment_lists import CommentSelection

ops = OperationGroup(
    "pulls",
    pull_number=pulls.get,
    comment_id=issue_comments.get_line,
    review_id=issue_comments.get_review,
)


class ListedLineComment(LineComment):
    """A comment on a line. Its positions in the diff are null if they are not known."""

    position: int | None  # type: ignore[misc]  # it is left out of events and timelines
    original_position: int | None  # type: ignore[misc]  # the same


@ops("GET /repos/{owner}/{repo}/pulls/comments", READ, **FORMS)
def list_review_comments_for_repo(
    ctx: Context, repo: Row, page: NumberedPaging, query: SortedCommentQuery
) -> list[ListedLineComment]:
    """List review comments in a repository

    The comments on lines of all pull requests. `direction` counts only with `sort`.
    """
    return _page(ctx, repo, page, selection("line", query, repo_id=repo["id"]))


@ops("GET /repos/{owner}/{repo}/pulls/comments/{comment_id}", READ, **FORMS)
def get_review_comment(ctx: Context, repo: Row, comment: Row) -> ListedLineComment:
    """Get a review comment for a pull request"""
    (one,) = _serialize(ctx, repo, [comment])
    return one


@ops("GET /repos/{owner}/{repo}/pulls/{pull_number}/comments", READ, errors=(410,), **FORMS)
def list_review_comments(
    ctx: Context, repo: Row, pull: Row, page: NumberedPaging, query: SortedCommentQuery
) -> list[ListedLineComment]:
    """List review comments on a pull request

    The comments on its lines. `direction` counts only with `sort`.
    """
    return _page(ctx, repo, page, selection("line", query, issue_id=pull["id"]))


@ops(
    "GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/comments",
    READ,
    errors=(410,),
    **FORMS,
)
def list_comments_for_review(
    ctx: Context, repo: Row, pull: Row, review: Row, page: NumberedPaging
) -> list[ListedLineComment]:
    """List comments for a pull request review

    The comments on lines that are in the review, by id.
    """
    chosen = CommentSelection("line", issue_id=pull["id"], review=review["number"])
    return _page(ctx, repo, page, chosen)


def _page(
    ctx: Context, repo: Row, page: NumberedPaging, chosen: CommentSelection
) -> list[ListedLineComment]:
    page.count(lambda most: comment_lists.count(ctx.db, chosen, most))
    return _serialize(ctx, repo, comment_lists.page(ctx.db, chosen, **page.bounds))


def _serialize(ctx: Context, repo: Row, rows: Sequence[Row]) -> list[ListedLineComment]:
    forms = BodyForms(ctx.media)
    forms.prepare(ctx.db)
    about = issues.of(ctx.db, {row["issue_id"] for row in rows})
    people = simple_users(ctx.urls, ctx.db, {row["author_id"] for row in rows})
    return [
        _listed(
            line_comment_serializers.one(
                ctx.urls, repo, about[row["issue_id"]], row, people.get(row["author_id"]), forms
            )
        )
        for row in rows
    ]


def _listed(shown: LineComment) -> ListedLineComment:
    positions = {"position": None, "original_position": None}
    return cast("ListedLineComment", positions | shown)
