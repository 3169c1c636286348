"""Installations: how an app finds them, and how it gets tokens that act on their accounts."""

from typing import Annotated, Any, NotRequired

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.apps import app_serializers
from hub.api.apps.app_serializers import Installation, Level, Permissions
from hub.api.repositories import full_serializers
from hub.api.repositories.full_serializers import Repository
from hub.auth.app_access import as_integration
from hub.auth.credentials import SUSPENDED
from hub.http.errors import Forbidden
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.validation import Id, Moment, Text
from store import Row
from store.accounts import accounts, organizations
from store.apps import installation_repositories, installation_tokens, installations
from store.clock import iso
from store.errors import Invalid, Missing
from store.repositories import repositories

ops = OperationGroup(
    "apps",
    installation_id=installations.get,
    org=organizations.by_login,
    username=accounts.by_login,
)

ITSELF = as_integration()
MOST_REPOSITORIES, MOST_PERMISSIONS = 500, 200
Name = Annotated[Text, MaxLen(100)]


class InstallationQuery(TypedDict, total=False):
    since: Moment
    outdated: Annotated[Text, MaxLen(10)]


class NewToken(TypedDict, total=False):
    """Limits a token to a part of what the installation may do."""

    repositories: Annotated[list[Name], MaxLen(MOST_REPOSITORIES)]
    repository_ids: Annotated[list[Id], MaxLen(MOST_REPOSITORIES)]
    permissions: Annotated[dict[Name, Level], MaxLen(MOST_PERMISSIONS)]


class InstallationToken(TypedDict):
    """A token. `repositories` are those that the request names."""

    token: str
    expires_at: str
    permissions: Permissions
    repository_selection: str
    repositories: NotRequired[list[Repository]]


@ops("GET /app/installations", ITSELF)
def list_installations(
    ctx: Context, page: NumberedPaging, query: InstallationQuery
) -> list[Installation]:
    """List installations for the authenticated app

    Oldest first. `since` leaves those that were updated since then, and `outdated=true` those whose
    accounts have not accepted all that the app asks for at present.
    """
    app = ctx.required_app
    chosen: dict[str, Any] = {
        "since": query.get("since"),
        "outdated": query.get("outdated") == "true",
    }
    page.count(lambda most: installations.count(ctx.db, app["id"], most, **chosen))
    rows = installations.page(ctx.db, app["id"], **page.bounds, **chosen)
    return app_serializers.several(ctx.urls, ctx.db, rows)


@ops("GET /app/installations/{installation_id}", ITSELF)
def get_installation(ctx: Context, installation: Row) -> Installation:
    """Get an installation for the authenticated app"""
    return app_serializers.installation(ctx.urls, ctx.db, installation)


@ops(
    "POST /app/installations/{installation_id}/access_tokens",
    ITSELF,
    status=201,
)
def create_installation_access_token(
    ctx: Context, installation: Row, body: NewToken
) -> InstallationToken:
    """Create an installation access token for an app

    The token is valid for an hour. Without a body it has all permissions of the installation, for
    all its repositories. The body can only narrow that.
    """
    if installation["suspended_at"] is not None:
        raise Forbidden(SUSPENDED)
    chosen = _chosen(ctx, installation, body)
    value, row = installation_tokens.create(
        ctx.db, installation, wanted=body.get("permissions"), repositories=chosen
    )
    every = installation["every_repository"] and chosen is None
    answer: InstallationToken = {
        "token": value,
        "expires_at": iso(row["expires_at"]),
        "permissions": row["permissions"],
        "repository_selection": app_serializers.selection(every),
    }
    if chosen is not None:
        found = repositories.of(ctx.db, chosen)
        rows = [found[number] for number in sorted(found)]
        answer["repositories"] = full_serializers.several(ctx, rows)
    return answer


@ops("GET /orgs/{org}/installation", ITSELF)
def get_org_installation(ctx: Context, org: Row) -> Installation:
    """Get an organization installation for the authenticated app"""
    return _on_account(ctx, org["id"])


@ops("GET /users/{username}/installation", ITSELF)
def get_user_installation(ctx: Context, username: Row) -> Installation:
    """Get a user installation for the authenticated app

    Also finds the installation on an organization.
    """
    return _on_account(ctx, username["id"])


@ops("GET /repos/{owner}/{repo}/installation", ITSELF)
def get_repo_installation(ctx: Context, repo: Row) -> Installation:
    """Get a repository installation for the authenticated app

    404 if the installation does not cover the repository.
    """
    found = installations.on_account(ctx.db, ctx.required_app["id"], repo["owner_id"])
    if found is None or not installation_repositories.covers(ctx.db, found, repo):
        raise Missing("repository")
    return app_serializers.installation(ctx.urls, ctx.db, found)


def _on_account(ctx: Context, account_id: int) -> Installation:
    found = installations.on_account(ctx.db, ctx.required_app["id"], account_id)
    if found is None:
        raise Missing("installation")
    return app_serializers.installation(ctx.urls, ctx.db, found)


def _chosen(ctx: Context, installation: Row, body: NewToken) -> set[int] | None:
    if "repositories" in body and "repository_ids" in body:
        raise Invalid("Only one of repositories and repository_ids may be given.")
    if "repositories" in body:
        return installation_tokens.named(ctx.db, installation, body["repositories"])
    if "repository_ids" in body:
        return installation_tokens.numbered(ctx.db, installation, body["repository_ids"])
    return None
