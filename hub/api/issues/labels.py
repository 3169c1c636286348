"""Labels of a repository, and the labels on an issue."""

import re
from typing import Annotated, Any, NotRequired

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.issues import issue_part_serializers
from hub.api.issues.issue_part_serializers import Label
from hub.api.issues.issue_rules import LABEL_CREATED, MANAGE, READ, LabelName, find_issue
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.interaction_check import check_archived
from hub.rest.paging import NumberedPaging
from hub.rest.validation import Text
from store import Row
from store.errors import Invalid
from store.issues import label_changes, labels

ops = OperationGroup("issues", name=labels.by_name, issue_number=find_issue)

COLOR = re.compile("[0-9a-fA-F]{6}")
SHOWN = ("name", "color", "description")

Color = Annotated[Text, MaxLen(50)]
Description = Annotated[Text, MaxLen(100)] | None


class LabelLook(TypedDict, total=False):
    """The color of a label has 6 hexadecimal digits, without `#`."""

    color: Color
    description: Description


class NewLabel(LabelLook):
    """A label to create. Without a color, it is gray."""

    name: LabelName


class LabelEdit(LabelLook):
    """A change of a label. Members that are not given stay.

    `name` is the older name of `new_name`.
    """

    new_name: NotRequired[LabelName]
    name: NotRequired[LabelName]


@ops("GET /repos/{owner}/{repo}/labels", READ)
def list_labels_for_repo(ctx: Context, repo: Row, page: NumberedPaging) -> list[Label]:
    """List labels for a repository

    By name.
    """
    page.count(lambda most: labels.count(ctx.db, repo["id"], most))
    rows = labels.page(ctx.db, repo["id"], **page.bounds)
    return [issue_part_serializers.label(ctx.urls, repo, row) for row in rows]


@ops("GET /repos/{owner}/{repo}/labels/{name}", READ)
def get_label(ctx: Context, repo: Row, name: Row) -> Label:
    """Get a label

    Its name in any case.
    """
    return issue_part_serializers.label(ctx.urls, repo, name)


@ops(
    "POST /repos/{owner}/{repo}/labels",
    MANAGE,
    status=201,
    emits=(LABEL_CREATED,),
    created=True,
)
def create_label(ctx: Context, repo: Row, body: NewLabel) -> Label:
    """Create a label

    The name is unique regardless of case.
    """
    check_archived(repo)
    row = label_changes.create(ctx.db, repo["id"], {"name": body["name"], **_look(body)})
    return _emit(ctx, repo, row, "created")


@ops("PATCH /repos/{owner}/{repo}/labels/{name}", MANAGE, emits=("label.edited",))
def update_label(ctx: Context, repo: Row, name: Row, body: LabelEdit) -> Label:
    """Update a label

    Issues keep a label that gets a new name.
    """
    check_archived(repo)
    fields = _look(body)
    if "new_name" in body or "name" in body:
        fields["name"] = body.get("new_name") or body["name"]
    before, after = label_changes.update(ctx.db, name, fields)
    former = {key: {"from": before[key] or ""} for key in SHOWN if before[key] != after[key]}
    if not former:
        return issue_part_serializers.label(ctx.urls, repo, after)
    return _emit(ctx, repo, after, "edited", changes=former)


@ops("DELETE /repos/{owner}/{repo}/labels/{name}", MANAGE, emits=("label.deleted",))
def delete_label(ctx: Context, repo: Row, name: Row) -> None:
    """Delete a label

    It is removed from all issues.
    """
    check_archived(repo)
    label_changes.delete(ctx.db, name)
    _emit(ctx, repo, name, "deleted")


@ops("GET /repos/{owner}/{repo}/issues/{issue_number}/labels", READ)
def list_labels_on_issue(ctx: Context, repo: Row, issue: Row, page: NumberedPaging) -> list[Label]:
    """List labels for an issue

    By name.
    """
    page.total = labels.count_on_issue(ctx.db, issue["id"])
    rows = labels.page_on_issue(ctx.db, issue, total=page.total, **page.bounds)
    return [issue_part_serializers.label(ctx.urls, repo, row) for row in rows]


def _look(body: LabelLook) -> dict[str, Any]:
    """Return the columns for the color and the description. Raises Invalid for a wrong color."""
    found: dict[str, Any] = {}
    if "color" in body:
        if not COLOR.fullmatch(body["color"]):
            raise Invalid(
                "the color must be 6 hexadecimal digits without '#'",
                field="color",
                resource="Label",
            )
        found["color"] = body["color"].lower()
    if "description" in body:
        found["description"] = body["description"]
    return found


def _emit(ctx: Context, repo: Row, row: Row, action: str, **members: Any) -> Label:
    shown = issue_part_serializers.label(ctx.urls, repo, row)
    ctx.emit(f"label.{action}", repo, label=shown, **members)
    return shown
