"""Serializers of enterprises and their teams, shared by several groups."""

from typing import Literal

from typing_extensions import TypedDict

from hub.rest.serializers import row_serializer
from hub.rest.urls import Urls
from store import Row
from store.clock import iso

Selection = Literal["disabled", "selected", "all"]
Notifications = Literal["notifications_enabled", "notifications_disabled"]


class EnterpriseTeam(TypedDict):
    id: int
    name: str
    description: str
    slug: str
    url: str
    html_url: str
    members_url: str
    sync_to_organizations: Literal["all", "disabled"]
    organization_selection_type: Selection
    group_id: str | None
    group_name: None
    notification_setting: Notifications
    created_at: str
    updated_at: str


class FullEnterpriseTeam(EnterpriseTeam):
    members_count: int


class Enterprise(TypedDict):
    id: int
    slug: str
    name: str
    created_at: str
    updated_at: str


enterprise = row_serializer(Enterprise)


def team(urls: Urls, owner: Row, row: Row) -> EnterpriseTeam:
    """Serialize a team of the enterprise `owner`."""
    url = urls.enterprise_team(owner["slug"], row["slug"])
    return {
        "id": row["id"],
        "name": row["name"],
        "description": row["description"] or "",
        "slug": row["slug"],
        "url": url,
        "html_url": urls.enterprise_team_page(owner["slug"], row["slug"]),
        "members_url": f"{url}/memberships{{/member}}",
        "sync_to_organizations": "all" if row["selection"] == "all" else "disabled",
        "organization_selection_type": row["selection"],
        "group_id": row["group_id"],
        "group_name": None,
        "notification_setting": row["notification_setting"],
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
    }
