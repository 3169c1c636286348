"""The members of organizations, and the memberships of users."""

from typing import Literal

from typing_extensions import TypedDict

from hub.auth.access import on_user, public
from hub.auth.organization_access import check_organization, may_do, on_org, own_memberships
from hub.http.response import TypedReply
from hub.rest import organization_serializers, serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import SimpleUser
from store import Row
from store.accounts import accounts, memberships, organizations
from store.errors import Invalid, Missing, existing

ops = OperationGroup("orgs", org=organizations.by_login, username=accounts.by_login)

READ = on_org("members", "read", known=True, scopes=("read:org",))
MINE = on_user("members", "read", scopes=("read:org",))


class MemberQuery(TypedDict, total=False):
    """`2fa_disabled` lists the members without one-time passwords; only owners may ask for it."""

    filter: Literal["2fa_disabled", "2fa_insecure", "all"]
    role: Literal["all", "admin", "member"]


class MembershipQuery(TypedDict, total=False):
    """Nobody is invited to an organization here, so no membership is pending."""

    state: Literal["active", "pending"]


class OrganizationMembership(TypedDict):
    url: str
    state: Literal["active"]
    role: Literal["admin", "member"]
    direct_membership: bool
    organization_url: str
    organization: OrganizationSimple
    user: SimpleUser


@ops("GET /orgs/{org}/members", public())
def list_members(
    ctx: Context, org: Row, page: NumberedPaging, query: MemberQuery
) -> list[SimpleUser]:
    """List organization members

    Members of the organization see all of them with a token that has the scope `read:org` or the
    permission `members` (read). Everybody else sees the public ones.
    """
    own = _role_of_caller(ctx, org)
    chosen = query.get("filter", "all")
    if chosen != "all" and own != "admin":
        raise Invalid("Only owners can use this filter.", field="filter", resource="Organization")
    role = query.get("role", "all")
    return _listed(ctx, org, page, own is None, role=None if role == "all" else role, only=chosen)


@ops("GET /orgs/{org}/members/{username}", public(), also=(302,))
def check_membership_for_user(ctx: Context, org: Row, username: Row) -> TypedReply | None:
    """Check organization membership for a user

    302 to the public membership if the caller is no member, and does not ask about itself. 404 if
    the user is no member.
    """
    if _role_of_caller(ctx, org) is None:
        if ctx.caller is not None and ctx.caller.account_id == username["id"]:
            raise Missing("membership")
        url = ctx.urls.public_member(org["login"], username["login"])
        return TypedReply(302, None, {"Location": url})
    _role(ctx, org, username)
    return None


@ops("GET /orgs/{org}/public_members", public())
def list_public_members(ctx: Context, org: Row, page: NumberedPaging) -> list[SimpleUser]:
    """List public organization members"""
    return _listed(ctx, org, page, True)


@ops("GET /orgs/{org}/public_members/{username}", public())
def check_public_membership_for_user(ctx: Context, org: Row, username: Row) -> None:
    """Check public organization membership for a user

    404 if the user is no member, or a concealed one.
    """
    if not memberships.is_public(ctx.db, org["id"], username["id"]):
        raise Missing("membership")


@ops("GET /orgs/{org}/memberships/{username}", READ)
def get_membership_for_user(ctx: Context, org: Row, username: Row) -> OrganizationMembership:
    """Get organization membership for a user

    403 if the caller is no member of the organization.
    """
    return _serialize(ctx, org, username, _role(ctx, org, username))


@ops("GET /user/memberships/orgs", MINE)
def list_memberships_for_authenticated_user(
    ctx: Context, page: NumberedPaging, query: MembershipQuery
) -> list[OrganizationMembership]:
    """List organization memberships for the authenticated user

    Those in organizations for which the token is valid. Single sign-on must have authorized it.
    """
    account, chosen = _caller(ctx), own_memberships(ctx.db, ctx.required_caller, "members")
    if query.get("state") == "pending":
        return []
    page.total = memberships.count_of(ctx.db, chosen)
    rows = memberships.of(ctx.db, chosen, **page.bounds)
    return [_serialize(ctx, row, account, row["role"]) for row in rows]


@ops("GET /user/memberships/orgs/{org}", MINE)
def get_membership_for_authenticated_user(ctx: Context, org: Row) -> OrganizationMembership:
    """Get an organization membership for the authenticated user

    404 for a token that is limited to another account.
    """
    account = _caller(ctx)
    role = _role(ctx, org, account)
    check_organization(ctx.db, ctx.required_caller, org, MINE.permissions)
    return _serialize(ctx, org, account, role)


def _role_of_caller(ctx: Context, org: Row) -> str | None:
    return may_do(ctx.db, ctx.caller, org, ("members", "read"), "read:org")


def _caller(ctx: Context) -> Row:
    return accounts.required(ctx.db, ctx.required_caller.account_id)


def _role(ctx: Context, org: Row, account: Row) -> str:
    return existing(accounts.organization_role(ctx.db, org["id"], account["id"]), "membership")


def _listed(
    ctx: Context,
    org: Row,
    page: NumberedPaging,
    public_only: bool,
    role: str | None = None,
    only: str = "all",
) -> list[SimpleUser]:
    chosen = memberships.MemberSelection(org["id"], public_only, role, only)
    page.count(lambda most: memberships.count_members(ctx.db, chosen, most))
    rows = memberships.members(ctx.db, chosen, **page.bounds)
    return [serializers.simple_user(ctx.urls, row) for row in rows]


def _serialize(ctx: Context, org: Row, account: Row, role: str) -> OrganizationMembership:
    return {
        "url": ctx.urls.membership(org["login"], account["login"]),
        "state": "active",
        "role": "admin" if role == "admin" else "member",
        "direct_membership": True,
        "organization_url": ctx.urls.organization(org["login"]),
        "organization": organization_serializers.organization(ctx.urls, org),
        "user": serializers.simple_user(ctx.urls, account),
    }
