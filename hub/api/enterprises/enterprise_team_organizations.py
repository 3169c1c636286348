"""Assignment of enterprise teams to organizations (group 4)."""

from typing import Annotated

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.enterprises.team_parts import PERSONAL, READ, TeamPart, require_all
from hub.auth.enterprise_access import on_enterprise
from hub.rest import organization_serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.operation import Emits
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.paging import NumberedPaging
from hub.rest.validation import Text
from store import Row
from store.enterprises import enterprise_assignments, enterprise_teams, enterprises
from store.errors import Missing

ops = OperationGroup(
    "enterprise-team-organizations",
    enterprise=enterprises.by_slug,
    enterprise_team=enterprise_teams.find,
    org=enterprise_assignments.candidate,
)

ASSIGNMENTS = "/enterprises/{enterprise}/teams/{enterprise-team}/organizations"
ASSIGNMENT = ASSIGNMENTS + "/{org}"
WRITE = on_enterprise("enterprise_teams", "write", scopes=("admin:enterprise",), kinds=PERSONAL)
ADDS: Emits = {"emits": ("enterprise_team.organizations_added",)}
REMOVES: Emits = {"emits": ("enterprise_team.organizations_removed",)}
MOST = 1000
ORGANIZATIONS = TeamPart(
    "organizations",
    enterprise_assignments.among,
    enterprise_assignments.add,
    enterprise_assignments.remove,
)

Slug = Annotated[Text, MaxLen(100)]


class OrganizationSlugs(TypedDict):
    organization_slugs: Annotated[list[Slug], MaxLen(MOST)]


@ops(f"GET {ASSIGNMENTS}", READ)
def get_assignments(
    ctx: Context, enterprise_team: Row, page: NumberedPaging
) -> list[OrganizationSimple]:
    """Get organization assignments

    A team that is assigned to all organizations has all those in the enterprise.
    """
    page.count(lambda most: enterprise_assignments.count(ctx.db, enterprise_team, most))
    rows = enterprise_assignments.page(ctx.db, enterprise_team, **page.bounds)
    return [organization_serializers.organization(ctx.urls, row) for row in rows]


@ops(f"POST {ASSIGNMENTS}/add", WRITE, **ADDS)
def bulk_add(
    ctx: Context, enterprise: Row, enterprise_team: Row, body: OrganizationSlugs
) -> list[OrganizationSimple]:
    """Add organization assignments

    Adds all organizations or none: each must belong to the enterprise.
    """
    rows = _named(ctx, enterprise, body)
    ORGANIZATIONS.add(ctx, enterprise, enterprise_team, rows)
    return [organization_serializers.organization(ctx.urls, row) for row in rows]


@ops(f"POST {ASSIGNMENTS}/remove", WRITE, **REMOVES)
def bulk_remove(
    ctx: Context, enterprise: Row, enterprise_team: Row, body: OrganizationSlugs
) -> None:
    """Remove organization assignments"""
    ORGANIZATIONS.remove(ctx, enterprise, enterprise_team, _named(ctx, enterprise, body))


@ops(f"GET {ASSIGNMENT}", READ)
def get_assignment(ctx: Context, enterprise_team: Row, org: Row) -> OrganizationSimple:
    """Get organization assignment

    404 if the team is not assigned to it.
    """
    if not enterprise_assignments.among(ctx.db, enterprise_team, [org["id"]]):
        raise Missing("assignment")
    return organization_serializers.organization(ctx.urls, org)


@ops(f"PUT {ASSIGNMENT}", WRITE, status=201, **ADDS)
def add(ctx: Context, enterprise: Row, enterprise_team: Row, org: Row) -> OrganizationSimple:
    """Add an organization assignment"""
    ORGANIZATIONS.add(ctx, enterprise, enterprise_team, [org])
    return organization_serializers.organization(ctx.urls, org)


@ops(f"DELETE {ASSIGNMENT}", WRITE, **REMOVES)
def delete(ctx: Context, enterprise: Row, enterprise_team: Row, org: Row) -> None:
    """Delete an organization assignment

    Changes nothing if there is no assignment.
    """
    ORGANIZATIONS.remove(ctx, enterprise, enterprise_team, [org])


def _named(ctx: Context, enterprise: Row, body: OrganizationSlugs) -> list[Row]:
    slugs = {slug.lower() for slug in body["organization_slugs"]}
    rows = enterprise_assignments.candidates(ctx.db, enterprise["id"], slugs)
    return require_all(slugs, rows, "organization_slugs", "organizations")
