"""Milestones of a repository."""

from typing import Annotated, Any, Literal, NotRequired

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.issues import issue_part_serializers
from hub.api.issues.issue_part_serializers import Milestone
from hub.api.issues.issue_rules import MANAGE, READ, Body, check_title
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.interaction_check import check_archived
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import simple_users, time
from hub.rest.validation import Moment, Text
from store import Row
from store.issues import milestone_changes, milestones

ops = OperationGroup("issues", milestone_number=milestones.get)

STATES = {"open": "opened", "closed": "closed"}
"""State to the action of the event about it."""

Title = Annotated[Text, MaxLen(255)]


class MilestoneQuery(TypedDict, total=False):
    """A filter of milestones. `completeness` is the share of closed issues."""

    state: Literal["open", "closed", "all"]
    sort: Literal["due_on", "completeness"]
    direction: Literal["asc", "desc"]


class MilestoneDetails(TypedDict, total=False):
    state: Literal["open", "closed"]
    description: Body | None
    due_on: Moment | None


class NewMilestone(MilestoneDetails):
    """A milestone to create."""

    title: Title


class MilestoneEdit(MilestoneDetails):
    """A change of a milestone. Members that are not given stay."""

    title: NotRequired[Title]


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


@ops(
    "POST /repos/{owner}/{repo}/milestones",
    MANAGE,
    status=201,
    emits=("milestone.created",),
    created=True,
)
def create_milestone(ctx: Context, repo: Row, body: NewMilestone) -> Milestone:
    """Create a milestone

    Two milestones cannot have the same title.
    """
    check_archived(repo)
    check_title(body["title"], "Milestone")
    by = ctx.required_caller.account_id
    row = milestone_changes.create(ctx.db, repo["id"], by, body)
    return _emit(ctx, repo, row, "created")


@ops(
    "PATCH /repos/{owner}/{repo}/milestones/{milestone_number}",
    MANAGE,
    emits=("milestone.edited", *(f"milestone.{action}" for action in STATES.values())),
)
def update_milestone(ctx: Context, repo: Row, milestone: Row, body: MilestoneEdit) -> Milestone:
    """Update a milestone

    A change of the state is an event of its own. The issues of a closed milestone stay as they are.
    """
    check_archived(repo)
    if "title" in body:
        check_title(body["title"], "Milestone")
    before, after = milestone_changes.update(ctx.db, milestone, body)
    former = _former(before, after)
    if former:
        _emit(ctx, repo, after, "edited", changes=former)
    if before["state"] != after["state"]:
        _emit(ctx, repo, after, STATES[after["state"]])
    (shown,) = _serialize(ctx, repo, [after])
    return shown


@ops(
    "DELETE /repos/{owner}/{repo}/milestones/{milestone_number}",
    MANAGE,
    emits=("milestone.deleted",),
)
def delete_milestone(ctx: Context, repo: Row, milestone: Row) -> None:
    """Delete a milestone

    It is removed from its issues. Its number is not used again.
    """
    check_archived(repo)
    milestone_changes.delete(ctx.db, milestone)
    _emit(ctx, repo, milestone, "deleted")


def _former(before: Row, after: Row) -> dict[str, dict[str, str]]:
    """Return the former values of what has changed, as texts."""
    values = {
        "title": before["title"],
        "description": before["description"],
        "due_on": time(before["due_on"]),
    }
    return {
        name: {"from": value or ""} for name, value in values.items() if before[name] != after[name]
    }


def _emit(ctx: Context, repo: Row, row: Row, action: str, **members: Any) -> Milestone:
    (shown,) = _serialize(ctx, repo, [row])
    ctx.emit(f"milestone.{action}", repo, milestone=shown, **members)
    return shown


def _serialize(ctx: Context, repo: Row, rows: list[Row]) -> list[Milestone]:
    people = simple_users(ctx.urls, ctx.db, {row["creator_id"] for row in rows})
    return [issue_part_serializers.milestone(ctx.urls, repo, row, people) for row in rows]
