"""Events about an enterprise's teams."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from hub.api.enterprises import enterprise_serializers
from hub.api.enterprises.enterprise_serializers import Enterprise, EnterpriseTeam
from hub.rest.context import Context
from hub.rest.serializers import SimpleUser
from store import Row


class EnterpriseTeamEvent(TypedDict):
    action: Literal[
        "created",
        "edited",
        "deleted",
        "organizations_added",
        "organizations_removed",
        "members_added",
        "members_removed",
    ]
    team: EnterpriseTeam
    enterprise: Enterprise
    organizations: NotRequired[list[str]]
    members: NotRequired[list[str]]
    sender: SimpleUser | None


def emit_event(ctx: Context, action: str, enterprise: Row, row: Row, **more: Any) -> EnterpriseTeam:
    """Emit the event `enterprise_team.<action>`, and return the serialized team."""
    shown = enterprise_serializers.team(ctx.urls, enterprise, row)
    ctx.emit(
        f"enterprise_team.{action}",
        None,
        team=shown,
        enterprise=enterprise_serializers.enterprise(enterprise),
        **more,
    )
    return shown
