"""Organizations, and the lists of a user's organizations."""

from hub.api.accounts import full_organization_serializers
from hub.api.accounts.full_organization_serializers import Organization
from hub.auth.access import public, signed_in
from hub.auth.organization_access import may_do, own_memberships
from hub.rest import organization_serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.paging import NumberedPaging
from store import Row
from store.accounts import accounts, memberships, organizations
from store.accounts.memberships import OwnSelection

ops = OperationGroup("orgs", org=organizations.by_login, username=accounts.by_login)

MINE = signed_in(scopes=("read:org", "user"))


@ops("GET /orgs/{org}", public())
def get(ctx: Context, org: Row) -> Organization:
    """Get an organization

    Owners see more with a token that has the scope `admin:org`, or the permission
    `organization_administration` (read).
    """
    owner = may_do(ctx.db, ctx.caller, org, ("organization_administration", "read"), "admin:org")
    return full_organization_serializers.full(ctx, org, owner=owner == "admin")


@ops("GET /user/orgs", MINE)
def list_for_authenticated_user(ctx: Context, page: NumberedPaging) -> list[OrganizationSimple]:
    """List organizations for the authenticated user

    The list is empty for tokens with permissions instead of scopes. It leaves out organizations
    whose single sign-on has not authorized the token.
    """
    caller = ctx.required_caller
    if not caller.has_scopes:
        return []
    return _page(ctx, own_memberships(ctx.db, caller, "members"), page)


@ops("GET /users/{username}/orgs", public())
def list_for_user(ctx: Context, username: Row, page: NumberedPaging) -> list[OrganizationSimple]:
    """List organizations for a user

    The list contains public memberships only, for every caller.
    """
    return _page(ctx, OwnSelection(username["id"], public=True), page)


def _page(ctx: Context, chosen: OwnSelection, page: NumberedPaging) -> list[OrganizationSimple]:
    page.total = memberships.count_of(ctx.db, chosen)
    rows = memberships.of(ctx.db, chosen, **page.bounds)
    return [organization_serializers.organization(ctx.urls, row) for row in rows]
