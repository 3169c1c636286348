"""Serializers of issue fields and their values."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hub.rest.serializers import node_id, row_serializer
from store import Row

DataType = Literal["text", "number", "date", "single_select", "multi_select"]
Visibility = Literal["organization_members_only", "all"]
Color = Literal["gray", "blue", "green", "yellow", "orange", "red", "pink", "purple"]


class IssueFieldOption(TypedDict):
    id: int
    name: str
    description: str | None
    color: Color
    priority: int
    created_at: str
    updated_at: str


class IssueField(TypedDict):
    """A field of issues. `options` is null unless the field is a select."""

    id: int
    node_id: str
    name: str
    description: str | None
    data_type: DataType
    visibility: Visibility
    options: list[IssueFieldOption] | None
    created_at: str
    updated_at: str


class ChosenOption(TypedDict):
    id: int
    name: str
    color: str


class IssueFieldValue(TypedDict):
    """A field's value on an issue.

    `value` is a text, a number, a date, the id of the chosen option, or the names of the chosen
    options separated by commas.
    """

    issue_field_id: int
    issue_field_name: str
    node_id: str
    data_type: DataType
    value: str | int | float
    single_select_option: NotRequired[ChosenOption]
    multi_select_options: NotRequired[list[ChosenOption]]


_field = row_serializer(IssueField, "options", kind="IssueField")
_option = row_serializer(IssueFieldOption)


def field(row: Row) -> IssueField:
    chooses = row["data_type"].endswith("select")
    return _field(row, options=[_option(one) for one in row["options"]] if chooses else None)


def value(row: Row) -> IssueFieldValue:
    chosen: list[ChosenOption] = [
        {"id": one["id"], "name": one["name"], "color": one["color"]} for one in row["options"]
    ]
    shown: IssueFieldValue = {
        "issue_field_id": row["field_id"],
        "issue_field_name": row["name"],
        "node_id": node_id("IssueFieldValue", row["id"]),
        "data_type": row["data_type"],
        "value": row["value"],
    }
    if row["data_type"] == "single_select":
        shown["value"] = chosen[0]["id"]
        shown["single_select_option"] = chosen[0]
    elif row["data_type"] == "multi_select":
        shown["value"] = ",".join(one["name"] for one in chosen)
        shown["multi_select_options"] = chosen
    return shown
