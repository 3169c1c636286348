"""The full representation of organizations."""

from typing import Any, Literal, NotRequired, cast

from hub.rest import organization_serializers
from hub.rest.context import Context
from hub.rest.organization_serializers import OrganizationSimple
from store import Row
from store.clock import iso
from store.repositories import repository_details


class Organization(OrganizationSimple):
    """An organization. The members from `total_private_repos` on are for its owners."""

    name: NotRequired[str]
    email: NotRequired[str]
    has_organization_projects: bool
    has_repository_projects: bool
    public_repos: int
    public_gists: int
    followers: int
    following: int
    html_url: str
    type: Literal["Organization"]
    created_at: str
    updated_at: str
    archived_at: None
    total_private_repos: NotRequired[int]
    owned_private_repos: NotRequired[int]
    private_gists: NotRequired[int]
    disk_usage: NotRequired[int]
    collaborators: NotRequired[int]
    default_repository_permission: NotRequired[Literal["read"]]


def full(ctx: Context, org: Row, *, owner: bool) -> Organization:
    """Serialize an organization, for its owners with everything that is known about it."""
    owned = repository_details.owned(ctx.db, org["id"])
    named = {name: org[name] for name in ("name", "email") if org[name]}
    found = {
        **organization_serializers.organization(ctx.urls, org),
        **named,
        "has_organization_projects": False,
        "has_repository_projects": False,
        "public_repos": owned["public"],
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "html_url": ctx.urls.profile(org["login"]),
        "type": "Organization",
        "created_at": iso(org["created_at"]),
        "updated_at": iso(org["updated_at"]),
        "archived_at": None,
        **(_for_owners(owned) if owner else {}),
    }
    return cast("Organization", found)


def _for_owners(owned: Row) -> dict[str, Any]:
    return {
        "total_private_repos": owned["private"],
        "owned_private_repos": owned["private"],
        "private_gists": 0,
        "disk_usage": owned["size"],
        "collaborators": owned["collaborators"],
        "default_repository_permission": "read",
    }
