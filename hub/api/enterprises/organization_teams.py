"""The teams of organizations, and their members."""

from typing import Literal, cast

from typing_extensions import TypedDict

from hub.api.accounts import full_organization_serializers
from hub.api.accounts.full_organization_serializers import Organization
from hub.api.enterprises import team_serializers
from hub.api.enterprises.team_serializers import ListedTeam
from hub.auth.organization_access import on_org
from hub.auth.viewing import team_viewer
from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import SimpleUser
from store import Row
from store.accounts import accounts, organizations
from store.clock import iso
from store.enterprises import organization_teams, team_repositories
from store.errors import Missing, existing

ops = OperationGroup(
    "teams",
    org=organizations.by_login,
    team_slug=organization_teams.find,
    username=accounts.by_login,
)

LIST = on_org("members", "read", known=True, scopes=("read:org",))
READ = on_org("members", "read", scopes=("read:org",))


class TeamQuery(TypedDict, total=False):
    team_type: Literal["all", "enterprise", "organization"]


class TeamMemberQuery(TypedDict, total=False):
    """Owners of the organization are maintainers of its teams."""

    role: Literal["member", "maintainer", "all"]


class FullTeam(ListedTeam):
    members_count: int
    repos_count: int
    created_at: str
    updated_at: str
    organization: Organization


TeamRole = Literal["member", "maintainer"]
ROLES: dict[bool, TeamRole] = {True: "maintainer", False: "member"}
"""Whether an account maintains a team, to its role in the team."""


class TeamMember(SimpleUser):
    role: TeamRole


class TeamMembership(TypedDict):
    url: str
    role: TeamRole
    state: Literal["active"]


@ops("GET /orgs/{org}/teams", LIST)
def list_(ctx: Context, org: Row, page: NumberedPaging, query: TeamQuery) -> list[ListedTeam]:
    """List teams

    The teams that the caller may see: owners see secret ones too, members only their own. Teams of
    the enterprise that are assigned to the organization are listed with them. 403 if the caller is
    no member of the organization.
    """
    kind, viewer = query.get("team_type", "all"), team_viewer(ctx.db, ctx.caller, org["id"])
    page.total = organization_teams.count(ctx.db, org["id"], viewer, kind)
    rows = organization_teams.page(ctx.db, org["id"], viewer, kind, **page.bounds)
    return [team_serializers.listed(ctx.urls, org, row) for row in rows]


@ops("GET /orgs/{org}/teams/{team_slug}", READ)
def get_by_name(ctx: Context, org: Row, team_slug: Row) -> FullTeam:
    """Get a team by name"""
    team = _visible(ctx, org, team_slug)
    found = {
        **team_serializers.listed(ctx.urls, org, team),
        "members_count": organization_teams.count_members(ctx.db, org["id"], team),
        "repos_count": team_repositories.count_of(ctx.db, team),
        "created_at": iso(team["created_at"]),
        "updated_at": iso(team["updated_at"]),
        "organization": full_organization_serializers.full(ctx, org, owner=False),
    }
    return cast("FullTeam", found)


@ops("GET /orgs/{org}/teams/{team_slug}/members", READ)
def list_members_in_org(
    ctx: Context, org: Row, team_slug: Row, page: NumberedPaging, query: TeamMemberQuery
) -> list[TeamMember]:
    """List team members"""
    team, role = _visible(ctx, org, team_slug), query.get("role", "all")
    page.total = organization_teams.count_members(ctx.db, org["id"], team, role)
    rows = organization_teams.members(
        ctx.db, org["id"], team, role, total=page.total, **page.bounds
    )
    return [
        {
            **serializers.simple_user(ctx.urls, row),
            "role": ROLES[bool(row["maintains"])],
        }
        for row in rows
    ]


@ops("GET /orgs/{org}/teams/{team_slug}/members/{username}", READ)
def check_member_in_org(ctx: Context, org: Row, team_slug: Row, username: Row) -> None:
    """Check team membership for a user

    404 if the user is no member of the team.
    """
    _maintains(ctx, org, team_slug, username)


@ops("GET /orgs/{org}/teams/{team_slug}/memberships/{username}", READ)
def get_membership_for_user_in_org(
    ctx: Context, org: Row, team_slug: Row, username: Row
) -> TeamMembership:
    """Get team membership for a user

    404 if the user is no member of the team. Nobody is invited to teams here, so each membership is
    active.
    """
    role = ROLES[_maintains(ctx, org, team_slug, username)]
    url = ctx.urls.team_membership(org["login"], team_slug["slug"], username["login"])
    return {"url": url, "role": role, "state": "active"}


def _maintains(ctx: Context, org: Row, team: Row, account: Row) -> bool:
    """Return whether an account maintains a team. Raises Missing if it is no member."""
    visible = _visible(ctx, org, team)
    found = organization_teams.maintains(ctx.db, org["id"], visible, account["id"])
    return existing(found, "membership")


def _visible(ctx: Context, org: Row, team: Row) -> Row:
    viewer = team_viewer(ctx.db, ctx.caller, org["id"])
    if not organization_teams.is_visible(ctx.db, org["id"], viewer, team):
        raise Missing("team")
    return team
