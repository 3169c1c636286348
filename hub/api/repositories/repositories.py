"""Repositories, and the lists of them."""

from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator
from typing_extensions import TypedDict

from hub.api.repositories import full_serializers
from hub.api.repositories.full_serializers import FullRepository, ListedRepository, Repository
from hub.auth.access import public, signed_in
from hub.auth.repository_access import on_repo
from hub.auth.token_rights import suffices
from hub.auth.viewing import viewer_of
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.validation import Moment, Text
from store import Row
from store.accounts import accounts, organizations
from store.errors import Invalid
from store.repositories import repository_lists
from store.repositories.repository_lists import RepositoryFilter

ops = OperationGroup("repos", org=organizations.by_login, username=accounts.by_login)

READ = on_repo("metadata", "read").or_anyone()
MINE = signed_in(("metadata", "read"))
Sort = Literal["created", "updated", "pushed", "full_name"]
Direction = Literal["asc", "desc"]
# The ways of belonging that each type of a list stands for.
TYPES = {
    "all": tuple(repository_lists.AFFILIATIONS),
    "owner": ("owner",),
    "member": ("collaborator", "organization_member"),
}


def _affiliations(value: str) -> str:
    unknown = set(_split(value)).difference(repository_lists.AFFILIATIONS)
    if unknown:
        raise ValueError(f"must be a list of {', '.join(repository_lists.AFFILIATIONS)}")
    return value


def _split(value: str) -> list[str]:
    return [one.strip() for one in value.split(",")]


class SortQuery(TypedDict, total=False):
    """Names ascend by default, and times descend."""

    sort: Sort
    direction: Direction


class UserRepositoriesQuery(SortQuery, total=False):
    """`member` lists repositories of others. Default: owner."""

    type: Literal["all", "owner", "member"]


class OrganizationRepositoriesQuery(SortQuery, total=False):
    """`member` lists the repositories where the caller is a collaborator.

    `internal` repositories do not exist here.
    """

    type: Literal["all", "public", "private", "forks", "sources", "member", "internal"]


class OwnRepositoriesQuery(SortQuery, total=False):
    """`type` cannot be combined with the two others.

    `since` and `before` limit the time of the last update.
    """

    visibility: Literal["all", "public", "private"]
    affiliation: Annotated[Text, AfterValidator(_affiliations)]
    type: Literal["all", "owner", "public", "private", "member"]
    since: Moment
    before: Moment


class Topics(TypedDict):
    names: list[str]


@ops("GET /repos/{owner}/{repo}", READ)
def get(ctx: Context, repo: Row) -> FullRepository:
    """Get a repository

    `permissions` follow from the caller's role, whatever the token may do. `parent` and `source`
    of a fork are not known here, and neither are the settings for merging.
    """
    return full_serializers.full(ctx, repo)


@ops("GET /repos/{owner}/{repo}/topics", READ)
def get_all_topics(ctx: Context, repo: Row, page: NumberedPaging) -> Topics:
    """Get all repository topics"""
    names: list[str] = orjson.loads(repo["topics"])
    page.total = len(names)
    return {"names": names[page.offset : page.offset + page.limit]}


@ops("GET /users/{username}/repos", public())
def list_for_user(
    ctx: Context, username: Row, page: NumberedPaging, query: UserRepositoriesQuery
) -> list[ListedRepository]:
    """List repositories for a user

    Public ones only. Those of organizations are left out if the caller may not know that the user
    is a member.
    """
    chosen = RepositoryFilter(
        viewer_of(ctx.caller),
        who=username["id"],
        known_to=_seer(ctx, username),
        affiliations=TYPES[query.get("type", "owner")],
        private=False,
    )
    return full_serializers.listed(ctx, _page(ctx, chosen, page, query, "full_name"))


def _seer(ctx: Context, user: Row) -> int:
    """Return the account that may see concealed memberships of a user; 0 for none."""
    if ctx.caller is None:
        return 0
    # The permission of a limited token is one on some organizations, and the list is of all.
    may = ctx.caller.where_installed is None and suffices(
        (("members", "read"),), ctx.caller, ("read:org",)
    )
    return ctx.caller.account_id if may or ctx.caller.account_id == user["id"] else 0


@ops("GET /orgs/{org}/repos", public())
def list_for_org(
    ctx: Context, org: Row, page: NumberedPaging, query: OrganizationRepositoriesQuery
) -> list[ListedRepository]:
    """List organization repositories

    Private ones only if the caller may see them.
    """
    kind = query.get("type", "all")
    belongs: dict[str, Any] = {}
    if kind == "member":
        # No account has the id 0, so the list is empty for a caller without credentials.
        who = 0 if ctx.caller is None else ctx.caller.account_id
        belongs = {"who": who, "affiliations": ("collaborator",)}
    elif kind == "internal":
        belongs = {"who": 0, "affiliations": ("owner",)}
    chosen = RepositoryFilter(
        viewer_of(ctx.caller),
        owner_id=org["id"],
        **belongs,
        private={"public": False, "private": True}.get(kind),
        fork={"forks": True, "sources": False}.get(kind),
    )
    return full_serializers.listed(ctx, _page(ctx, chosen, page, query, "created"))


@ops("GET /user/repos", MINE)
def list_for_authenticated_user(
    ctx: Context, page: NumberedPaging, query: OwnRepositoriesQuery
) -> list[Repository]:
    """List repositories for the authenticated user

    The repositories that the user owns, collaborates in, or sees as a member of an organization.
    Private ones only if the token can see them.
    """
    kind = query.get("type")
    if kind is not None and query.keys() & {"visibility", "affiliation"}:
        raise Invalid(
            "If you specify visibility or affiliation, you cannot specify type.",
            field="type",
            resource="Repository",
        )
    given = query.get("affiliation")
    chosen = RepositoryFilter(
        viewer_of(ctx.caller),
        who=ctx.required_caller.account_id,
        affiliations=_split(given) if given is not None else TYPES.get(kind or "all", TYPES["all"]),
        private={"public": False, "private": True}.get(kind or query.get("visibility", "all")),
        since=query.get("since"),
        before=query.get("before"),
    )
    return full_serializers.several(ctx, _page(ctx, chosen, page, query, "full_name"))


def _page(
    ctx: Context,
    chosen: RepositoryFilter,
    page: NumberedPaging,
    query: SortQuery,
    default: Sort,
) -> list[Row]:
    page.count(lambda most: repository_lists.count(ctx.db, chosen, most))
    sort = query.get("sort", default)
    direction = query.get("direction", "asc" if sort == "full_name" else "desc")
    return repository_lists.page(
        ctx.db,
        chosen,
        sort=sort,
        descending=direction == "desc",
        **page.bounds,
    )
