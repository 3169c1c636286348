"""Reviews of pull requests, as events of a platform reported them, and who is asked for one."""

from collections.abc import Sequence

from typing_extensions import TypedDict

from hub.api.enterprises.team_serializers import EventTeam
from hub.api.issues.body_forms import FORMS, BodyForms
from hub.api.pulls import pull_serializers, review_serializers
from hub.api.pulls.pull_rules import READ
from hub.api.pulls.review_serializers import Review
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import SimpleUser, simple_users
from store import Row
from store.issues import comment_lists, issue_comments, pulls
from store.issues.comment_lists import CommentSelection

ops = OperationGroup("pulls", pull_number=pulls.get, review_id=issue_comments.get_review)


class RequestedReviewers(TypedDict):
    users: list[SimpleUser]
    teams: list[EventTeam]


@ops("GET /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers", READ, errors=(410,))
def list_requested_reviewers(ctx: Context, repo: Row, pull: Row) -> RequestedReviewers:
    """Get all requested reviewers for a pull request

    Secret teams are left out for callers who may not see them.
    """
    (shown,) = pull_serializers.for_caller(ctx, repo, [pull])
    return {"users": shown["requested_reviewers"], "teams": shown["requested_teams"]}


@ops("GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews", READ, errors=(410,), **FORMS)
def list_reviews(ctx: Context, repo: Row, pull: Row, page: NumberedPaging) -> list[Review]:
    """List reviews for a pull request

    The oldest first. Reviews that no event has reported are not known. The state is in upper case
    here, and in lower case in events.
    """
    chosen = CommentSelection("review", issue_id=pull["id"])
    page.count(lambda most: comment_lists.count(ctx.db, chosen, most))
    return _serialize(ctx, repo, pull, comment_lists.page(ctx.db, chosen, **page.bounds))


@ops(
    "GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}",
    READ,
    errors=(410,),
    **FORMS,
)
def get_review(ctx: Context, repo: Row, pull: Row, review: Row) -> Review:
    """Get a review for a pull request"""
    (one,) = _serialize(ctx, repo, pull, [review])
    return one


def _serialize(ctx: Context, repo: Row, pull: Row, rows: Sequence[Row]) -> list[Review]:
    forms = BodyForms(ctx.media)
    forms.prepare(ctx.db)
    people = simple_users(ctx.urls, ctx.db, {row["author_id"] for row in rows})
    found = []
    for row in rows:
        author = people.get(row["author_id"])
        text = row | {"body": row["body"] or ""}
        shown = review_serializers.one(ctx.urls, repo, pull, text, author, forms)
        shown["state"] = shown["state"].upper()
        found.append(shown)
    return found
