"""Memberships of enterprise teams (group 4)."""

from typing import Annotated

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.enterprises.team_parts import OWNER, READ, TeamPart, require_all
from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.operation import Emits
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import SimpleUser
from hub.rest.validation import Text
from store import Connection, Row
from store.enterprises import enterprise_memberships, enterprise_teams, enterprises
from store.errors import Missing


def _user(db: Connection, team_id: int, login: str) -> Row | None:
    return next(iter(enterprise_memberships.users(db, [login])), None)


ops = OperationGroup(
    "enterprise-team-memberships",
    enterprise=enterprises.by_slug,
    enterprise_team=enterprise_teams.find,
    username=_user,
)

MEMBERSHIPS = "/enterprises/{enterprise}/teams/{enterprise-team}/memberships"
MEMBERSHIP = MEMBERSHIPS + "/{username}"
ADDS: Emits = {"emits": ("enterprise_team.members_added",)}
REMOVES: Emits = {"emits": ("enterprise_team.members_removed",)}
MOST = 1000
MEMBERS = TeamPart(
    "members",
    enterprise_memberships.among,
    enterprise_memberships.add,
    enterprise_memberships.remove,
)

Login = Annotated[Text, MaxLen(100)]


class Usernames(TypedDict):
    usernames: Annotated[list[Login], MaxLen(MOST)]


@ops(f"GET {MEMBERSHIPS}", READ)
def list_(ctx: Context, enterprise_team: Row, page: NumberedPaging) -> list[SimpleUser]:
    """List members in an enterprise team"""
    team_id = enterprise_team["id"]
    page.count(lambda most: enterprise_memberships.count(ctx.db, team_id, most))
    rows = enterprise_memberships.page(ctx.db, team_id, **page.bounds)
    return [serializers.simple_user(ctx.urls, row) for row in rows]


@ops(f"POST {MEMBERSHIPS}/add", OWNER, **ADDS)
def bulk_add(
    ctx: Context, enterprise: Row, enterprise_team: Row, body: Usernames
) -> list[SimpleUser]:
    """Bulk add team members

    Adds all users or none: each must be a member of the enterprise.
    """
    rows = _named(ctx, enterprise, body)
    MEMBERS.add(ctx, enterprise, enterprise_team, rows)
    return [serializers.simple_user(ctx.urls, row) for row in rows]


@ops(f"POST {MEMBERSHIPS}/remove", OWNER, **REMOVES)
def bulk_remove(
    ctx: Context, enterprise: Row, enterprise_team: Row, body: Usernames
) -> list[SimpleUser]:
    """Bulk remove team members"""
    rows = _named(ctx, enterprise, body)
    MEMBERS.remove(ctx, enterprise, enterprise_team, rows)
    return [serializers.simple_user(ctx.urls, row) for row in rows]


@ops(f"GET {MEMBERSHIP}", READ)
def get(ctx: Context, enterprise_team: Row, username: Row) -> SimpleUser:
    """Get enterprise team membership

    404 if the user is not a member of the team.
    """
    if not enterprise_memberships.among(ctx.db, enterprise_team, [username["id"]]):
        raise Missing("membership")
    return serializers.simple_user(ctx.urls, username)


@ops(f"PUT {MEMBERSHIP}", OWNER, status=201, errors=(404,), **ADDS)
def add(ctx: Context, enterprise: Row, enterprise_team: Row, username: Row) -> SimpleUser:
    """Add team member

    404 if the user is not a member of the enterprise.
    """
    if enterprises.role_of(ctx.db, enterprise, username) is None:
        raise Missing("user")
    MEMBERS.add(ctx, enterprise, enterprise_team, [username])
    return serializers.simple_user(ctx.urls, username)


@ops(f"DELETE {MEMBERSHIP}", OWNER, **REMOVES)
def remove(ctx: Context, enterprise: Row, enterprise_team: Row, username: Row) -> None:
    """Remove team membership

    Changes nothing if there is no membership.
    """
    MEMBERS.remove(ctx, enterprise, enterprise_team, [username])


def _named(ctx: Context, enterprise: Row, body: Usernames) -> list[Row]:
    logins = {login.lower() for login in body["usernames"]}
    rows = enterprise_memberships.users(ctx.db, logins)
    inside = enterprises.memberships_of(ctx.db, enterprise["id"], [row["id"] for row in rows])
    rows = [row for row in rows if row["id"] in inside or row["site_admin"]]
    return require_all(logins, rows, "usernames", "members")
