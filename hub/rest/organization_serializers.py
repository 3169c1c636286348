"""The representation of organizations, shared by several groups."""

from typing_extensions import TypedDict

from hub.rest.serializers import node_id
from hub.rest.urls import Urls
from store import Row


class OrganizationSimple(TypedDict):
    login: str
    id: int
    node_id: str
    url: str
    repos_url: str
    events_url: str
    hooks_url: str
    issues_url: str
    members_url: str
    public_members_url: str
    avatar_url: str
    description: str | None


def organization(urls: Urls, account: Row) -> OrganizationSimple:
    """Serialize an organization's account in its short form."""
    url = urls.organization(account["login"])
    return {
        "login": account["login"],
        "id": account["id"],
        "node_id": node_id("Organization", account["id"]),
        "url": url,
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events",
        "hooks_url": f"{url}/hooks",
        "issues_url": f"{url}/issues",
        "members_url": f"{url}/members{{/member}}",
        "public_members_url": f"{url}/public_members{{/member}}",
        "avatar_url": urls.avatar(account["id"]),
        "description": account["description"],
    }
