"""Milestones of a repository."""

from typing import Literal

from typing_extensions import TypedDict

from hub.api.issues import issue_part_serializers
from hub.api.issues.issue_part_serializers import Milestone
from hub.api.issues.issue_rules import READ
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import simple_users
from store import Row
from store.issues import milestones

ops = OperationGroup("issues", milestone_number=milestones.get)


class MilestoneQuery(TypedDict, total=False):
    """A filter of milestones. `completeness` is the share of closed issues."""

    state: Literal["open", "closed", "all"]
    sort: Literal["due_on", "completeness"]
    direction: Literal["asc", "desc"]


@ops("GET /repos/{owner}/{repo}/milestones", READ)
def list_milestones(
    ctx: Context, repo: Row, page: NumberedPaging, query: MilestoneQuery
) -> list[Milestone]:
    """List milestones

    Without a filter, the open ones, the next due date first.
    """
    given = query.get("state", "open")
    state = None if given == "all" else given
    page.count(lambda most: milestones.count(ctx.db, repo["id"], state=state, most=most))
    rows = milestones.page(
        ctx.db,
        repo["id"],
        state=state,
        sort=query.get("sort", "due_on"),
        ascending=query.get("direction") != "desc",
        **page.bounds,
    )
    return _serialize(ctx, repo, rows)


@ops("GET /repos/{owner}/{repo}/milestones/{milestone_number}", READ)
def get_milestone(ctx: Context, repo: Row, milestone: Row) -> Milestone:
    """Get a milestone"""
    (shown,) = _serialize(ctx, repo, [milestone])
    return shown


def _serialize(ctx: Context, repo: Row, rows: list[Row]) -> list[Milestone]:
    people = simple_users(ctx.urls, ctx.db, {row["creator_id"] for row in rows})
    return [issue_part_serializers.milestone(ctx.urls, repo, row, people) for row in rows]
