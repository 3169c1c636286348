"""Issue field values (group 3): the values of an organization's fields on an issue."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from annotated_types import Ge, Le, MaxLen
from pydantic import with_config
from typing_extensions import TypedDict

from hub.api.issues import issue_field_serializers, issue_serializers
from hub.api.issues.issue_field_serializers import IssueFieldValue
from hub.api.issues.issue_rules import ISSUES, find_issue
from hub.auth.repository_access import on_repo
from hub.auth.token_rights import is_signed_on, suffices
from hub.rest import organization_serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.interaction_check import check_archived
from hub.rest.operation import OperationOptions
from hub.rest.paging import NumberedPaging
from hub.rest.urls import Urls
from hub.rest.validation import Text
from store import Connection, Row
from store.accounts import accounts
from store.delivery.outbox import SnapshotEvent
from store.errors import Invalid
from store.issues import issue_changes, issue_field_values, issue_fields, issues
from store.issues.issue_field_values import Change

ops = OperationGroup("issues", issue_number=find_issue, issue_field_id=issue_field_values.get)

WRITE = on_repo("issues", "write", role="write", public_scopes=("public_repo",)).or_has(
    "pull_requests", "write"
)
# For a member's token, to see values that are not public.
INSIDE = on_repo("issues", "read", public_scopes=("public_repo", "read:org")).or_has(
    "pull_requests", "read"
)
CHANGES: OperationOptions = {
    "emits": ("issues.field_added", "issues.field_removed"),
    "created": True,
}
MOST = 25

FieldId = Annotated[int, Ge(0), Le(2**63 - 1)]


@with_config({"extra": "forbid"})
class AddedFieldValue(TypedDict):
    """A value to add. For a `multi_select` it is an array of option names."""

    field_id: FieldId
    value: Text | int | float | Annotated[list[Text], MaxLen(100)]


@with_config({"extra": "forbid"})
class ReplacingFieldValue(TypedDict):
    """A value to set. For a `multi_select` it is the option names separated by commas."""

    field_id: FieldId
    value: Text | int | float


class AddedFieldValues(TypedDict, total=False):
    issue_field_values: Annotated[list[AddedFieldValue], MaxLen(MOST)]


class ReplacingFieldValues(TypedDict, total=False):
    issue_field_values: Annotated[list[ReplacingFieldValue], MaxLen(MOST)]


@ops("GET /repos/{owner}/{repo}/issues/{issue_number}/issue-field-values", ISSUES)
def list_issue_field_values_for_issue(
    ctx: Context, repo: Row, issue: Row, page: NumberedPaging
) -> list[IssueFieldValue]:
    """List issue field values for an issue

    Values of fields for members only are shown to members of the organization only.
    """
    members = _belongs(ctx, repo)
    page.total = issue_field_values.count(ctx.db, issue["id"], members=members)
    rows = issue_field_values.of_issue(ctx.db, issue["id"], members=members, **page.bounds)
    return [issue_field_serializers.value(row) for row in rows]


@ops("POST /repos/{owner}/{repo}/issues/{issue_number}/issue-field-values", WRITE, **CHANGES)
def add_issue_field_values(
    ctx: Context, repo: Row, issue: Row, body: AddedFieldValues
) -> list[IssueFieldValue]:
    """Add issue field values to an issue

    The values of other fields stay. An empty array removes all values.
    """
    given = body.get("issue_field_values")
    return _filled(ctx, repo, issue, given, instead=given == [])


@ops("PUT /repos/{owner}/{repo}/issues/{issue_number}/issue-field-values", WRITE, **CHANGES)
def set_issue_field_values(
    ctx: Context, repo: Row, issue: Row, body: ReplacingFieldValues
) -> list[IssueFieldValue]:
    """Set issue field values for an issue

    Replaces all values.
    """
    given = body.get("issue_field_values")
    return _filled(ctx, repo, issue, given, instead=given is not None)


@ops(
    "DELETE /repos/{owner}/{repo}/issues/{issue_number}/issue-field-values/{issue_field_id}",
    WRITE,
    emits=("issues.field_removed",),
    created=True,
)
def delete_issue_field_value(ctx: Context, repo: Row, issue: Row, issue_field: Row) -> None:
    """Delete an issue field value from an issue"""
    check_archived(repo)
    _emit(ctx, repo, issue, issue_changes.clear_field(ctx.db, issue, issue_field["field_id"]))


def _belongs(ctx: Context, repo: Row) -> bool:
    """Return whether the caller is a member of the repository's organization, by a valid token."""
    caller = ctx.caller
    if caller is None or not caller.reaches(repo):
        return False
    if not suffices(INSIDE.permissions, caller, INSIDE.accepted):
        return False
    if caller.installation_id is not None:
        return True
    if not is_signed_on(ctx.db, caller, repo["owner_id"]):
        return False
    if caller.site_admin or caller.account_id == repo["owner_id"]:
        return True
    return accounts.organization_role(ctx.db, repo["owner_id"], caller.account_id) is not None


def _filled(
    ctx: Context, repo: Row, issue: Row, given: Sequence[Any] | None, *, instead: bool
) -> list[IssueFieldValue]:
    check_archived(repo)
    fields = {row["id"]: row for row in issue_fields.of_organization(ctx.db, repo["owner_id"])}
    wanted = {}
    for one in given or ():
        field = fields.get(one["field_id"])
        if field is None:
            raise _unknown(
                one["field_id"], "does not belong to the repository's organization", "missing"
            )
        if field["id"] in wanted:
            raise _unknown(one["field_id"], "occurs twice", "invalid")
        wanted[field["id"]] = issue_field_values.assignment_of(field, one["value"])
    _emit(ctx, repo, issue, issue_changes.set_fields(ctx.db, issue, wanted, instead=instead))
    rows = issue_field_values.of_issue(ctx.db, issue["id"])
    if not _belongs(ctx, repo):
        # A caller with push access gets back what this request has set.
        rows = [
            row for row in rows
            if row["field_id"] in wanted or row["visibility"] == "all"
        ]  # fmt: skip
    return [issue_field_serializers.value(row) for row in rows]


def _unknown(field_id: int, what: str, code: str) -> Invalid:
    return Invalid(
        f"issue field {field_id} {what}", field="field_id", code=code, resource="IssueFieldValue"
    )


def _emit(ctx: Context, repo: Row, issue: Row, changes: Sequence[Change]) -> None:
    """Emit the platform's event for each change."""
    if not changes:
        return
    about = _about(ctx, repo, issue)
    ids = {row["field_id"] for change in changes for row in change if row is not None}
    fields = issue_fields.of(ctx.db, ids)
    added = [(repo, about | _change(fields, *one)) for one in changes if one[1] is not None]
    removed = [(repo, about | _change(fields, *one)) for one in changes if one[1] is None]
    if added:
        ctx.emit_all("issues.field_added", added)
    if removed:
        ctx.emit_all("issues.field_removed", removed)


def _about(ctx: Context, repo: Row, issue: Row) -> dict[str, Any]:
    """Return the members that all events have in common."""
    row = issues.get(ctx.db, repo["id"], issue["number"])
    owner = accounts.required(ctx.db, repo["owner_id"])
    assert row is not None, "it was found a moment ago"
    shown = issue_serializers.several(ctx.urls, ctx.db, repo, [row])[row["id"]]
    return {
        "issue": shown,
        "organization": organization_serializers.organization(ctx.urls, owner),
    }


def _change(fields: Mapping[int, Row], before: Row | None, after: Row | None) -> dict[str, Any]:
    row = after or before
    assert row is not None, "a change has one side at least"
    payload = {
        "issue_field": issue_field_serializers.field(fields[row["field_id"]])
        | {"field_type": row["data_type"]},
        "issue_field_value": _identified(row),
    }
    if before is None or after is None:
        return payload
    return {**payload, "changes": {"issue_field_value": {"from": _identified(before)}}}


def _identified(row: Row) -> dict[str, Any]:
    """Return a value with its id, which events have in addition."""
    return {"id": row["id"], **issue_field_serializers.value(row)}


def _snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    ids = {row["issue_id"] for row in rows}
    shown = issue_serializers.several(urls, db, repo, [*issues.of(db, ids).values()])
    fields = issue_fields.of(db, {row["field_id"] for row in rows})
    values = issue_field_values.of(db, [row["id"] for row in rows])
    owner = accounts.required(db, repo["owner_id"])
    organization = organization_serializers.organization(urls, owner)
    return [
        SnapshotEvent(
            "issues.field_added",
            repo["id"],
            {
                "issue": shown[row["issue_id"]],
                "organization": organization,
                **_change(fields, None, values[row["id"]]),
            },
        )
        for row in rows
    ]


ops.declare_snapshots(issue_field_value=_snapshot)
