"""Enterprise teams (group 4)."""

from typing import Annotated, Any, Literal, NotRequired

from annotated_types import MaxLen, MinLen
from typing_extensions import TypedDict

from hub.api.enterprises import enterprise_serializers
from hub.api.enterprises.enterprise_events import EnterpriseTeamEvent, emit_event
from hub.api.enterprises.enterprise_serializers import (
    EnterpriseTeam,
    FullEnterpriseTeam,
    Notifications,
    Selection,
)
from hub.api.enterprises.team_parts import OWNER, READ
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.validation import Text
from store import Row
from store.accounts.teams import LONGEST
from store.enterprises import (
    enterprise_assignments,
    enterprise_memberships,
    enterprise_teams,
    enterprises,
)

ops = OperationGroup(
    "enterprise-teams", enterprise=enterprises.by_slug, team_slug=enterprise_teams.find
)


Name = Annotated[Text, MinLen(1), MaxLen(LONGEST)]
Description = Annotated[Text, MaxLen(1000)]
GroupId = Annotated[Text, MaxLen(200)]


class NewEnterpriseTeam(TypedDict):
    """A new team. `sync_to_organizations` is the old form of `organization_selection_type`."""

    name: Name
    description: NotRequired[Description | None]
    sync_to_organizations: NotRequired[Literal["all", "disabled"]]
    organization_selection_type: NotRequired[Selection]
    group_id: NotRequired[GroupId | None]
    notification_setting: NotRequired[Notifications]


class EnterpriseTeamChange(TypedDict, total=False):
    """Changes of a team.

    Fields that are left out stay, and so does the name if it is null or empty.
    """

    name: Annotated[Text, MaxLen(LONGEST)] | None
    description: Description | None
    sync_to_organizations: Literal["all", "disabled"]
    organization_selection_type: Selection
    group_id: GroupId | None
    notification_setting: Notifications


ops.declare_events(enterprise_team=EnterpriseTeamEvent)


@ops("GET /enterprises/{enterprise}/teams", READ)
def list_(ctx: Context, enterprise: Row, page: NumberedPaging) -> list[EnterpriseTeam]:
    """List enterprise teams"""
    page.count(lambda most: enterprise_teams.count(ctx.db, enterprise["id"], most))
    rows = enterprise_teams.page(ctx.db, enterprise["id"], **page.bounds)
    return [enterprise_serializers.team(ctx.urls, enterprise, row) for row in rows]


@ops("POST /enterprises/{enterprise}/teams", OWNER, status=201, emits=("enterprise_team.created",))
def create(ctx: Context, enterprise: Row, body: NewEnterpriseTeam) -> FullEnterpriseTeam:
    """Create an enterprise team

    The slug is `ent:` followed by the name.
    """
    row = enterprise_teams.create(ctx.db, enterprise["id"], body["name"], **_columns(body))
    emit_event(ctx, "created", enterprise, row)
    return _full(ctx, enterprise, row)


@ops("GET /enterprises/{enterprise}/teams/{team_slug}", READ)
def get(ctx: Context, enterprise: Row, team_slug: Row) -> FullEnterpriseTeam:
    """Get an enterprise team

    The team is found by its slug or its id.
    """
    # No Last-Modified: the count of members changes without the team.
    return _full(ctx, enterprise, team_slug)


@ops("PATCH /enterprises/{enterprise}/teams/{team_slug}", OWNER, emits=("enterprise_team.edited",))
def update(
    ctx: Context, enterprise: Row, team_slug: Row, body: EnterpriseTeamChange
) -> FullEnterpriseTeam:
    """Update an enterprise team

    A new name changes the slug. If `organization_selection_type` is no longer `selected`, the
    selection is deleted.
    """
    changes = _columns(body)
    if body.get("name"):
        changes["name"] = body["name"]
    row = enterprise_teams.update(ctx.db, team_slug, **changes)
    if row["selection"] != "selected":
        enterprise_assignments.clear(ctx.db, row)
    if row != team_slug:
        emit_event(ctx, "edited", enterprise, row)
    return _full(ctx, enterprise, row)


@ops(
    "DELETE /enterprises/{enterprise}/teams/{team_slug}", OWNER, emits=("enterprise_team.deleted",)
)
def delete(ctx: Context, enterprise: Row, team_slug: Row) -> None:
    """Delete an enterprise team"""
    enterprise_teams.delete(ctx.db, team_slug)
    emit_event(ctx, "deleted", enterprise, team_slug)


def _full(ctx: Context, enterprise: Row, row: Row) -> FullEnterpriseTeam:
    """Serialize a team with the number of its members."""
    shown = enterprise_serializers.team(ctx.urls, enterprise, row)
    return {**shown, "members_count": enterprise_memberships.count(ctx.db, row["id"])}


def _columns(body: NewEnterpriseTeam | EnterpriseTeamChange) -> dict[str, Any]:
    """Return the given columns without the name."""
    found: dict[str, Any] = {
        name: value
        for name, value in body.items()
        if name in ("description", "group_id", "notification_setting")
    }
    if "sync_to_organizations" in body:
        found["selection"] = body["sync_to_organizations"]
    if "organization_selection_type" in body:
        found["selection"] = body["organization_selection_type"]
    return found
