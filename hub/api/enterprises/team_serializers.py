"""Serializers of an organization's teams, shared by several groups."""

from typing import Literal, NotRequired, cast

from typing_extensions import TypedDict

from hub.rest.serializers import node_id
from hub.rest.urls import Urls
from store import Row


class TeamDetails(TypedDict):
    """The members that all forms of a team have."""

    id: int
    node_id: str
    name: str
    slug: str
    description: str | None
    privacy: str
    notification_setting: str
    permission: str
    url: str
    html_url: str
    members_url: str
    repositories_url: str
    parent: None


class EventTeam(TeamDetails):
    """A team in the form used by issue events."""

    type: Literal["organization"]


class Team(EventTeam):
    organization_id: int


class ListedTeam(TeamDetails):
    """A team of an organization, or of the enterprise that assigns it to the organization."""

    type: Literal["organization", "enterprise"]
    organization_id: NotRequired[int]
    enterprise_id: NotRequired[int]


def listed(urls: Urls, org: Row, row: Row) -> ListedTeam:
    """Serialize a team from the organization's list of teams."""
    shown = team(urls, org, row)
    if row["enterprise_id"] is None:
        return cast("ListedTeam", shown)
    assigned = {name: value for name, value in shown.items() if name != "organization_id"}
    return cast(
        "ListedTeam",
        {
            **assigned,
            "node_id": node_id("EnterpriseTeam", row["id"]),
            "type": "enterprise",
            "enterprise_id": row["enterprise_id"],
        },
    )


def team(urls: Urls, org: Row, row: Row) -> Team:
    url = urls.team(org["login"], row["slug"])
    return {
        "id": row["id"],
        "node_id": node_id("Team", row["id"]),
        "name": row["name"],
        "slug": row["slug"],
        "description": row["description"],
        "privacy": row["privacy"],
        "notification_setting": row["notification_setting"],
        "permission": row["permission"],
        "url": url,
        "html_url": f"{urls.origin}/orgs/{org['login']}/teams/{row['slug']}",
        "members_url": f"{url}/members{{/member}}",
        "repositories_url": f"{url}/repos",
        "type": "organization",
        "organization_id": org["id"],
        "parent": None,
    }
