"""App-side tokens (group 2): operations of an application on its users' tokens."""

from collections.abc import Collection, Mapping
from typing import Annotated, Literal, Required

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.accounts import app_events, app_serializers
from hub.api.accounts.app_serializers import Authorization
from hub.auth.app_access import as_app
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.validation import Id, Text
from store import Row
from store.accounts import accounts, app_tokens, authorizations, grants
from store.accounts.app_rights import NOWHERE, WhereInstalled
from store.errors import Invalid, Missing, existing
from store.repositories import repositories

ops = OperationGroup("apps")

APP = as_app()
MOST_REPOSITORIES = 500


class AccessToken(TypedDict):
    access_token: Text


class ScopedTokenRequest(TypedDict, total=False):
    access_token: Required[Text]
    target: Annotated[Text, MaxLen(100)]
    target_id: Id
    repositories: Annotated[list[Annotated[Text, MaxLen(100)]], MaxLen(MOST_REPOSITORIES)]
    repository_ids: Annotated[list[Id], MaxLen(MOST_REPOSITORIES)]
    permissions: Annotated[
        dict[Annotated[Text, MaxLen(100)], Literal["read", "write", "admin"]], MaxLen(200)
    ]


@ops("DELETE /applications/{client_id}/grant", APP, emits=app_events.REVOKED)
def delete_authorization(ctx: Context, body: AccessToken) -> None:
    """Delete an app authorization

    Deletes the grant of the token's user, and with it all the application's tokens for that user.
    """
    row = named(ctx, body)
    grant = existing(grants.of_app(ctx.db, row["account_id"], row["app_id"]), "grant")
    app_events.revoke(ctx, grant)


@ops("POST /applications/{client_id}/token", APP, errors=(404,), audited=False)
def check_token(ctx: Context, body: AccessToken) -> Authorization:
    """Check a token

    404 if the token is invalid or another application's. It does not count as a failed login.
    """
    return serialize(ctx, known(ctx, body["access_token"]), body["access_token"])


@ops("PATCH /applications/{client_id}/token", APP, errors=(404,), emits=("authorization.reset",))
def reset_token(ctx: Context, body: AccessToken) -> Authorization:
    """Reset a token

    The response contains the new value. The old one is no longer valid.
    """
    value, row = app_tokens.reset(ctx.db, known(ctx, body["access_token"]))
    app_events.emit(ctx, "authorization.reset", row)
    return serialize(ctx, row, value)


@ops("DELETE /applications/{client_id}/token", APP, emits=("authorization.deleted",))
def delete_token(ctx: Context, body: AccessToken) -> None:
    """Delete an app token"""
    row = named(ctx, body)
    authorizations.delete(ctx.db, row)
    app_events.emit(ctx, "authorization.deleted", row)


@ops(
    "POST /applications/{client_id}/token/scoped",
    APP,
    errors=(403, 404),
    emits=("authorization.created",),
)
def scope_token(ctx: Context, body: ScopedTokenRequest) -> Authorization:
    """Create a scoped access token

    Derives a new token from a token of an app user. The new token covers only the repositories of
    `target` (or `target_id`), or those named in `repositories` (or `repository_ids`). It has at
    most the `permissions` of the old one. If the old one is only valid where the application is
    installed, the new one has no more than the installation on the target.
    """
    row = known(ctx, body["access_token"])
    if row["kind"] != "app_user" or row["target_id"] is not None:
        raise wrong("access_token", "only an app user's unscoped token can be scoped")
    target = target_of(ctx, body)
    found, permissions = chosen(ctx, row, target, body), body.get("permissions")
    if row["where_installed"]:
        check_installed(ctx, row, target, found, permissions)
    value, made = app_tokens.scope(
        ctx.db, row, target_id=target["id"], repositories=found, permissions=permissions
    )
    app_events.emit(ctx, "authorization.created", made)
    return serialize(ctx, made, value)


def known(ctx: Context, value: str) -> Row:
    """Return the application's valid token with this value. Raises Missing for any other."""
    return existing(app_tokens.of_app(ctx.db, ctx.required_app["id"], value), "token")


def named(ctx: Context, body: AccessToken) -> Row:
    """Return the application's valid token that the body names. Raises Invalid for any other."""
    try:
        return known(ctx, body["access_token"])
    except Missing:
        raise wrong("access_token", "it is not a valid token of this application") from None


def wrong(field: str, message: str, code: str = "invalid") -> Invalid:
    """Return the error for a field of the body."""
    return Invalid(message, field=field, code=code, resource=authorizations.RESOURCE)


def serialize(ctx: Context, row: Row, value: str) -> Authorization:
    """Serialize the authorization with its value, its user and its scope."""
    answer = app_serializers.authorization(ctx.urls, row, value)
    answer["user"] = app_events.user_of(ctx, row)
    if row["target_id"] is not None:
        target = accounts.required(ctx.db, row["target_id"])
        answer["installation"] = app_serializers.installation(ctx.urls, row, target)
    return answer


def target_of(ctx: Context, body: ScopedTokenRequest) -> Row:
    """Return the named account. Raises Invalid if none is named, or it does not exist."""
    if "target" in body:
        found = accounts.by_login(ctx.db, body["target"])
    elif "target_id" in body:
        found = accounts.get(ctx.db, body["target_id"])
    else:
        raise wrong("target", "a target or a target_id is required", "missing_field")
    if found is None or body.get("target_id", found["id"]) != found["id"]:
        raise wrong("target", "there is no such account")
    return found


def chosen(ctx: Context, row: Row, target: Row, body: ScopedTokenRequest) -> list[int] | None:
    """Return the ids of the named repositories; None for all of the target's.

    Raises Invalid if the token's user cannot see one of them, or it does not exist.
    """
    if "repositories" in body and "repository_ids" in body:
        raise wrong("repositories", "only one of repositories and repository_ids may be given")
    account = accounts.required(ctx.db, row["account_id"])
    if "repositories" in body:
        names = {name.lower() for name in body["repositories"]}
        return all_of(names, repositories.find_visible_by_name(ctx.db, target, account, names))
    if "repository_ids" in body:
        ids = set(body["repository_ids"])
        return all_of(ids, repositories.find_visible_by_id(ctx.db, target, account, ids))
    return None


def check_installed(
    ctx: Context,
    row: Row,
    target: Row,
    repository_ids: Collection[int] | None,
    permissions: Mapping[str, str] | None,
) -> None:
    """Raise Invalid if the installation on the target does not give a token what is wanted."""
    limit = WhereInstalled(row["app_id"], row["permissions"], None, None)
    rights = limit.rights_on(ctx.db, target["id"])
    if rights is NOWHERE:
        raise wrong("target", "the application is not installed there, or is suspended")
    if repository_ids is not None and rights.repositories is not None:
        all_of(repository_ids, [one for one in repository_ids if one in rights.repositories])
    grants.narrowed(rights.permissions, permissions)


def all_of(wanted: Collection[object], found: list[int]) -> list[int]:
    """Return the found ids. Raises Invalid if there are fewer of them than wanted repositories."""
    if len(found) < len(wanted):
        raise Invalid(
            "There is at least one repository that does not exist or is not accessible to the "
            "parent installation."
        )
    return found
