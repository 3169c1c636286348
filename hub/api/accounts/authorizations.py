"""Authorizations (group 1): a user's own tokens, managed with the user's password."""

from typing import Annotated, Required

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.accounts import app_events, app_serializers
from hub.api.accounts.app_serializers import Authorization
from hub.api.accounts.by_password import LEAVE_OUT, USER, ClientIdQuery, ShortText, filtered
from hub.http.response import TypedReply
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.resolve import text
from hub.rest.validation import Text
from store import Row
from store.accounts import apps, authorizations
from store.accounts.authorizations import TokenFields
from store.errors import Invalid

ops = OperationGroup(
    "oauth-authorizations",
    authorization_id=authorizations.get,
    client_id=text,
    fingerprint=text,
)
ops.declare_events(authorization=app_events.AuthorizationEvent)
ops.declare_serializers(authorization=app_events.expired)

Scopes = Annotated[list[Annotated[Text, MaxLen(100)]], MaxLen(100)]
Url = Annotated[Text, MaxLen(2048)]
Secret = Annotated[Text, MaxLen(40)]


class Description(TypedDict, total=False):
    scopes: Scopes | None
    note: ShortText | None
    note_url: Url | None
    fingerprint: ShortText | None


class NewAuthorization(Description, total=False):
    client_id: Annotated[Text, MaxLen(20)]
    client_secret: Secret


class NewAppAuthorization(Description, total=False):
    client_secret: Required[Secret]


class AuthorizationChange(Description, total=False):
    add_scopes: Scopes
    remove_scopes: Scopes


class ScopeChange(TypedDict, total=False):
    """The ways to change scopes."""

    scopes: list[str]
    added: list[str]
    removed: list[str]


@ops("GET /authorizations", USER, deprecated=LEAVE_OUT, errors=(404,))
def list_authorizations(
    ctx: Context, page: NumberedPaging, query: ClientIdQuery
) -> list[Authorization]:
    """List your authorizations

    The value of a token is never included.
    """
    account_id, app_id = ctx.required_caller.account_id, filtered(ctx, query)
    page.count(lambda most: authorizations.count(ctx.db, account_id, most, app_id=app_id))
    rows = authorizations.page(ctx.db, account_id, **page.bounds, app_id=app_id)
    return [app_serializers.authorization(ctx.urls, row) for row in rows]


@ops(
    "POST /authorizations",
    USER,
    status=201,
    deprecated=LEAVE_OUT,
    emits=("authorization.created",),
)
def create_authorization(ctx: Context, body: NewAuthorization) -> Authorization:
    """Create a new authorization

    With an application's client id and secret, the token belongs to that application, and
    `fingerprint` distinguishes several of your tokens for it. Otherwise it is a personal token and
    needs a unique `note`. Only this response contains its value. The token gives no access to
    organizations that enforce single sign-on.
    """
    given = fields_of(body)
    if "client_id" in body or "client_secret" in body:
        app = app_of(ctx, body.get("client_id", ""), body.get("client_secret", ""))
        value, row = authorizations.create_for_app(
            ctx.db, ctx.required_caller.account_id, app, **given
        )
    else:
        value, row = authorizations.create_personal(ctx.db, ctx.required_caller.account_id, **given)
    app_events.emit(ctx, "authorization.created", row)
    return app_serializers.authorization(ctx.urls, row, value)


@ops(
    "PUT /authorizations/clients/{client_id}",
    USER,
    also=(201,),
    deprecated=LEAVE_OUT,
    emits=("authorization.created",),
)
def get_or_create_authorization_for_app(
    ctx: Context, client_id: str, body: NewAppAuthorization
) -> Authorization | TypedReply:
    """Get-or-create an authorization for a specific app

    Returns the existing authorization unchanged and without its value (200), or a new one (201).
    """
    return given_or_made(ctx, client_id, body["client_secret"], fields_of(body))


@ops(
    "PUT /authorizations/clients/{client_id}/{fingerprint}",
    USER,
    also=(201,),
    deprecated=LEAVE_OUT,
    emits=("authorization.created",),
)
def get_or_create_authorization_for_app_and_fingerprint(
    ctx: Context, client_id: str, fingerprint: str, body: NewAppAuthorization
) -> Authorization | TypedReply:
    """Get-or-create an authorization for a specific app and fingerprint

    Returns the existing authorization unchanged and without its value (200), or a new one (201).
    """
    if len(fingerprint) > 255:
        raise Invalid("it is too long", field="fingerprint", resource=authorizations.RESOURCE)
    given: TokenFields = {**fields_of(body), "fingerprint": fingerprint}
    return given_or_made(ctx, client_id, body["client_secret"], given)


@ops("GET /authorizations/{authorization_id}", USER, deprecated=LEAVE_OUT)
def get_authorization(ctx: Context, authorization: Row) -> Authorization:
    """Get a single authorization"""
    # No Last-Modified: the application changes without the authorization.
    return app_serializers.authorization(ctx.urls, authorization)


@ops(
    "PATCH /authorizations/{authorization_id}",
    USER,
    deprecated=LEAVE_OUT,
    emits=("authorization.edited",),
)
def update_authorization(
    ctx: Context, authorization: Row, body: AuthorizationChange
) -> Authorization:
    """Update an existing authorization

    Only one of `scopes`, `add_scopes` and `remove_scopes` may be given.
    """
    fields = fields_of(body)
    row, is_changed = authorizations.update(
        ctx.db,
        authorization,
        texts={key: fields[key] for key in ("note", "note_url", "fingerprint") if key in body},
        **scopes_of(body, fields),
    )
    if is_changed:
        app_events.emit(ctx, "authorization.edited", row)
    return app_serializers.authorization(ctx.urls, row)


@ops(
    "DELETE /authorizations/{authorization_id}",
    USER,
    deprecated=LEAVE_OUT,
    emits=("authorization.deleted",),
)
def delete_authorization(ctx: Context, authorization: Row) -> None:
    """Delete an authorization

    The token is no longer valid. The grant stays, so the application can request another token.
    """
    authorizations.delete(ctx.db, authorization)
    app_events.emit(ctx, "authorization.deleted", authorization)


def app_of(ctx: Context, client_id: str, client_secret: str) -> Row:
    """Return the OAuth application with this id and secret.

    Raises the same Invalid for a wrong id and a wrong secret. Integrations get their tokens
    elsewhere.
    """
    app = apps.by_client_id(ctx.db, client_id)
    if app is None or app["kind"] != "oauth" or not apps.check_secret(app, client_secret):
        raise Invalid("Invalid OAuth application client_id or secret.")
    return app


def fields_of(body: Description) -> TokenFields:
    """Return the fields of a body. An empty text counts as none."""
    note_url = body.get("note_url") or None
    if note_url is not None:
        apps.check_url(note_url, "note_url")
    return {
        "scopes": body.get("scopes") or [],
        "note": body.get("note") or None,
        "note_url": note_url,
        "fingerprint": body.get("fingerprint") or None,
    }


def given_or_made(
    ctx: Context, client_id: str, client_secret: str, given: TokenFields
) -> Authorization | TypedReply:
    """Return the application's authorization with this fingerprint, or a new one with its value."""
    app = app_of(ctx, client_id, client_secret)
    value, row = authorizations.get_or_create(ctx.db, ctx.required_caller.account_id, app, **given)
    shown = app_serializers.authorization(ctx.urls, row, value)
    if value is None:
        return TypedReply(200, shown, {"Location": shown["url"]})
    app_events.emit(ctx, "authorization.created", row)
    return TypedReply(201, shown)


def scopes_of(body: AuthorizationChange, fields: TokenFields) -> ScopeChange:
    """Return the changes to the scopes. Raises Invalid for more than one way at a time."""
    ways: ScopeChange = {}
    if "scopes" in body:
        ways["scopes"] = fields["scopes"]
    if "add_scopes" in body:
        ways["added"] = body["add_scopes"]
    if "remove_scopes" in body:
        ways["removed"] = body["remove_scopes"]
    if len(ways) > 1:
        raise Invalid(
            "only one of scopes, add_scopes and remove_scopes may be given",
            field="scopes",
            code="custom",
            resource=authorizations.RESOURCE,
        )
    return ways
