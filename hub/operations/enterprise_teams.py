"""Enterprise teams (group 4)."""

from typing import Annotated, Any, Literal, NotRequired

from annotated_types import MaxLen, MinLen
from typing_extensions import TypedDict

from hub import enterprise_shapes
from hub.context import Context
from hub.enterprise_access import on_enterprise
from hub.enterprise_events import EnterpriseTeamEvent, tell
from hub.enterprise_shapes import EnterpriseTeam, Notifications, Selection
from hub.group import Group
from hub.paging import Page
from hub.validation import Text
from store import Row, enterprise_assignments, enterprise_teams, enterprises
from store.enterprise_teams import LONGEST

ops = Group("enterprise-teams", enterprise=enterprises.by_slug, team_slug=enterprise_teams.find)

PERSONAL = ("personal",)
READ = on_enterprise("enterprise_teams", "read", scopes=("read:enterprise",), kinds=PERSONAL)
WRITE = on_enterprise(
    "enterprise_teams", "write", rank="owner", scopes=("admin:enterprise",), kinds=PERSONAL
)

Name = Annotated[Text, MinLen(1), MaxLen(LONGEST)]
Description = Annotated[Text, MaxLen(1000)]
GroupId = Annotated[Text, MaxLen(200)]


class NewTeam(TypedDict):
    """`sync_to_organizations` is the former way to say `organization_selection_type`."""

    name: Name
    description: NotRequired[Description | None]
    sync_to_organizations: NotRequired[Literal["all", "disabled"]]
    organization_selection_type: NotRequired[Selection]
    group_id: NotRequired[GroupId | None]
    notification_setting: NotRequired[Notifications]


class TeamChanges(TypedDict, total=False):
    """What is not given, or no name, stays."""

    name: Name | None
    description: Description | None
    sync_to_organizations: Literal["all", "disabled"]
    organization_selection_type: Selection
    group_id: GroupId | None
    notification_setting: Notifications


ops.tells(enterprise_team=EnterpriseTeamEvent)


@ops("GET /enterprises/{enterprise}/teams", READ)
def list_(ctx: Context, enterprise: Row, page: Page) -> list[EnterpriseTeam]:
    """List enterprise teams"""
    page.count(lambda most: enterprise_teams.count(ctx.db, enterprise["id"], most))
    rows = enterprise_teams.page(ctx.db, enterprise["id"], limit=page.limit, offset=page.offset)
    return [enterprise_shapes.team(ctx.urls, enterprise, row) for row in rows]


@ops("POST /enterprises/{enterprise}/teams", WRITE, status=201, emits=("enterprise_team.created",))
def create(ctx: Context, enterprise: Row, body: NewTeam) -> EnterpriseTeam:
    """Create an enterprise team

    Its slug is `ent:` and its name.
    """
    row = enterprise_teams.create(ctx.db, enterprise["id"], body["name"], **_columns(body))
    return tell(ctx, "created", enterprise, row)


@ops("GET /enterprises/{enterprise}/teams/{team_slug}", READ)
def get(ctx: Context, enterprise: Row, team_slug: Row) -> EnterpriseTeam:
    """Get an enterprise team

    By its slug or its id.
    """
    ctx.last_modified = team_slug["updated_at"]
    return enterprise_shapes.team(ctx.urls, enterprise, team_slug)


@ops("PATCH /enterprises/{enterprise}/teams/{team_slug}", WRITE, emits=("enterprise_team.edited",))
def update(ctx: Context, enterprise: Row, team_slug: Row, body: TeamChanges) -> EnterpriseTeam:
    """Update an enterprise team

    Another name is another slug. What was selected is forgotten where organizations are not
    selected any more.
    """
    changes = _columns(body)
    if body.get("name"):
        changes["name"] = body["name"]
    row = enterprise_teams.update(ctx.db, team_slug, **changes)
    if row["selection"] != "selected":
        enterprise_assignments.clear(ctx.db, row)
    if row == team_slug:
        return enterprise_shapes.team(ctx.urls, enterprise, row)
    return tell(ctx, "edited", enterprise, row)


@ops(
    "DELETE /enterprises/{enterprise}/teams/{team_slug}", WRITE, emits=("enterprise_team.deleted",)
)
def delete(ctx: Context, enterprise: Row, team_slug: Row) -> None:
    """Delete an enterprise team"""
    enterprise_teams.delete(ctx.db, team_slug)
    tell(ctx, "deleted", enterprise, team_slug)


def _columns(body: NewTeam | TeamChanges) -> dict[str, Any]:
    """The columns that are given, but for the name."""
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
