"""Issue fields of an organization (group 3), which its repositories' issues can have values for."""

from typing import Annotated, Any, Literal, NotRequired

from annotated_types import Ge, Le, MaxLen, MinLen
from typing_extensions import TypedDict

from hub.api.issues.issue_field_serializers import Color, DataType, IssueField, Visibility, field
from hub.auth.organization_access import on_org
from hub.rest import organization_serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.serializers import SimpleUser
from hub.rest.validation import Text
from store import Row
from store.accounts import organizations
from store.issues import issue_fields

ops = OperationGroup("orgs", org=organizations.by_login, issue_field_id=issue_fields.get)

READ = on_org("issue_fields", "read", scopes=("read:org",))
WRITE = on_org("issue_fields", "write", owner=True, scopes=("admin:org",))

Name = Annotated[Text, MinLen(1), MaxLen(100)]
Description = Annotated[Text, MaxLen(1_000)] | None
# A higher limit than a field's, so that the store's own error can explain that limit.
MOST = 1_000


class NewIssueFieldOption(TypedDict):
    name: Name
    color: Color
    priority: Annotated[int, Ge(0), Le(2**31 - 1)]
    description: NotRequired[Description]


class IssueFieldOptionChange(NewIssueFieldOption):
    """An option, identified by its `id` or its name. It is new if neither is known."""

    id: NotRequired[Annotated[int, Ge(1), Le(2**63 - 1)]]


class NewIssueField(TypedDict):
    name: Name
    data_type: DataType
    description: NotRequired[Description]
    visibility: NotRequired[Visibility]
    options: NotRequired[Annotated[list[NewIssueFieldOption], MaxLen(MOST)] | None]


class IssueFieldChange(TypedDict, total=False):
    name: Name
    description: Description
    visibility: Visibility
    options: Annotated[list[IssueFieldOptionChange], MaxLen(MOST)]


class IssueFieldEvent(TypedDict):
    action: Literal["created", "edited", "deleted"]
    issue_field: IssueField
    organization: OrganizationSimple
    sender: SimpleUser | None


ops.declare_events(issue_field=IssueFieldEvent)


@ops("GET /orgs/{org}/issue-fields", READ)
def list_issue_fields(ctx: Context, org: Row) -> list[IssueField]:
    """List issue fields for an organization

    The oldest first.
    """
    return [field(row) for row in issue_fields.of_organization(ctx.db, org["id"])]


@ops("POST /orgs/{org}/issue-fields", WRITE, emits=("issue_field.created",))
def create_issue_field(ctx: Context, org: Row, body: NewIssueField) -> IssueField:
    """Create issue field for an organization

    The name is unique regardless of case. A select field requires options; other fields cannot have
    any. Only members see its values unless the visibility is `all`.
    """
    given: dict[str, Any] = {
        key: body[key] for key in ("description", "visibility", "options") if key in body
    }
    row = issue_fields.create(ctx.db, org["id"], body["name"], body["data_type"], **given)
    return _emit(ctx, "issue_field.created", org, row)


@ops("PATCH /orgs/{org}/issue-fields/{issue_field_id}", WRITE, emits=("issue_field.edited",))
def update_issue_field(
    ctx: Context, org: Row, issue_field: Row, body: IssueFieldChange
) -> IssueField:
    """Update issue field for an organization

    Fields that are left out stay as they are. Given options replace all present ones; a removed
    option is also removed from the issues.
    """
    changes: dict[str, Any] = {**body}
    row, changed = issue_fields.update(ctx.db, issue_field, **changes)
    return _emit(ctx, "issue_field.edited", org, row) if changed else field(row)


@ops("DELETE /orgs/{org}/issue-fields/{issue_field_id}", WRITE, emits=("issue_field.deleted",))
def delete_issue_field(ctx: Context, org: Row, issue_field: Row) -> None:
    """Delete issue field for an organization

    Its values are deleted with it.
    """
    issue_fields.delete(ctx.db, issue_field)
    _emit(ctx, "issue_field.deleted", org, issue_field)


def _emit(ctx: Context, event: str, org: Row, row: Row) -> IssueField:
    shown = field(row)
    whose = organization_serializers.organization(ctx.urls, org)
    ctx.emit(event, None, issue_field=shown, organization=whose)
    return shown
