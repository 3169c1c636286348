"""Repositories that an installation covers, and installations that a user of an app may see."""

from typing_extensions import TypedDict

from hub.api.apps import app_serializers
from hub.api.apps.app_serializers import Installation
from hub.api.repositories import full_serializers
from hub.api.repositories.full_serializers import Repository
from hub.auth.access import signed_in
from hub.auth.app_access import as_installation
from hub.auth.organization_access import check_organization, own_accounts
from hub.auth.viewing import viewer_of
from hub.http.errors import Forbidden
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from store import Row
from store.accounts import app_rights, tokens
from store.apps import installations, user_installations
from store.errors import Missing
from store.repositories import repository_lists
from store.repositories.repository_lists import RepositoryFilter

ops = OperationGroup("apps", installation_id=installations.get)

INSTALLED = as_installation()
OF_APP_USER = signed_in(kinds=("app_user",))
NO_APP = "This token belongs to no app, so it has no installations."


class Installations(TypedDict):
    total_count: int
    installations: list[Installation]


class InstallationRepositories(TypedDict):
    total_count: int
    repositories: list[Repository]
    repository_selection: str


@ops("GET /installation/repositories", INSTALLED)
def list_repos_accessible_to_installation(
    ctx: Context, page: NumberedPaging
) -> InstallationRepositories:
    """List repositories accessible to the app installation"""
    every = ctx.required_caller.repositories is None
    return _listed(ctx, page, RepositoryFilter(viewer_of(ctx.caller)), every)


@ops("DELETE /installation/token", INSTALLED)
def revoke_installation_access_token(ctx: Context) -> None:
    """Revoke an installation access token

    The token that the request has is rejected from then on.
    """
    token_id = ctx.required_caller.token_id
    assert token_id is not None, "an installation has a token"
    tokens.revoke(ctx.db, token_id)


@ops("GET /user/installations", OF_APP_USER)
def list_installations_for_authenticated_user(ctx: Context, page: NumberedPaging) -> Installations:
    """List app installations accessible to the user access token

    The installations of the token's app on the user's account and organizations, as far as the
    token is valid for these.
    """
    app_id, _ = _app_and_user(ctx)
    own = own_accounts(ctx.db, ctx.required_caller)
    page.total = user_installations.count(ctx.db, app_id, own)
    rows = user_installations.page(ctx.db, app_id, own, total=page.total, **page.bounds)
    return {
        "total_count": page.total,
        "installations": app_serializers.several(ctx.urls, ctx.db, rows),
    }


@ops("GET /user/installations/{installation_id}/repositories", OF_APP_USER)
def list_installation_repos_for_authenticated_user(
    ctx: Context, installation: Row, page: NumberedPaging
) -> InstallationRepositories:
    """List repositories accessible to the user access token

    Those that the installation covers and the user may see.
    """
    app_id, user_id = _app_and_user(ctx)
    if not user_installations.concerns(ctx.db, installation, app_id, user_id):
        raise Missing("installation")
    on = {"id": installation["account_id"], "login": installation["login"]}
    check_organization(ctx.db, ctx.required_caller, on)
    every = installation["every_repository"]
    among = None
    if not every:
        among = app_rights.selected_repositories(ctx.db, installation["id"])
    chosen = RepositoryFilter(
        viewer_of(ctx.caller), owner_id=installation["account_id"], among=among
    )
    return _listed(ctx, page, chosen, every)


def _app_and_user(ctx: Context) -> tuple[int, int]:
    """Return the ids of the token's app and user.

    Raises Forbidden for a token that an administrator made without an app.
    """
    caller = ctx.required_caller
    if caller.app_id is None:
        raise Forbidden(NO_APP)
    return caller.app_id, caller.account_id


def _listed(
    ctx: Context, page: NumberedPaging, chosen: RepositoryFilter, every: bool
) -> InstallationRepositories:
    page.total = repository_lists.count(ctx.db, chosen)
    rows = repository_lists.page(ctx.db, chosen, sort="created", descending=False, **page.bounds)
    return {
        "total_count": page.total,
        "repositories": full_serializers.several(ctx, rows),
        "repository_selection": app_serializers.selection(every),
    }
