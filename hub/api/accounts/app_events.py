"""Events about a user's grants and authorizations. They never contain a token."""

from collections.abc import Sequence
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hub.api.accounts import app_serializers
from hub.api.accounts.app_serializers import Authorization, Grant
from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.event_payloads import EventData
from hub.rest.serializers import SimpleUser
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts, grants
from store.apps import app_hooks


class GrantEvent(TypedDict):
    """A user or the app has deleted a grant, which let the app act for the user"""

    action: Literal["deleted"]
    grant: Grant
    user: SimpleUser
    sender: SimpleUser | None


class AuthorizationEvent(TypedDict):
    """A user's token was created, changed or deleted, or has expired

    Its `token` is always empty.
    """

    action: Literal["created", "edited", "deleted", "reset", "expired"]
    authorization: Authorization
    user: SimpleUser
    sender: NotRequired[SimpleUser | None]


REVOKED = ("application_grant.deleted", "github_app_authorization.revoked")


def emit(ctx: Context, event: str, row: Row) -> None:
    """Emit an event with the authorization as it is now."""
    ctx.emit(
        event,
        None,
        authorization=app_serializers.authorization(ctx.urls, row),
        user=user_of(ctx, row),
    )


def expired(urls: Urls, db: Connection, rows: Sequence[Row]) -> list[EventData]:
    """Return the event data for expired authorizations.

    Tokens of installations are no authorizations of users. Nothing reports their creation either.
    """
    rows = [row for row in rows if row["kind"] != "installation"]
    users = serializers.simple_users(urls, db, {row["account_id"] for row in rows})
    return [
        (
            None,
            {
                "authorization": app_serializers.authorization(urls, row),
                "user": users[row["account_id"]],
            },
        )
        for row in rows
    ]


def revoke(ctx: Context, grant: Row) -> None:
    """Delete a grant with all its tokens, and emit the event."""
    grants.delete(ctx.db, grant)
    user = user_of(ctx, grant)
    if grant["app_kind"] == "integration":
        also = app_hooks.receiving(ctx.db, grant["app_id"])
        ctx.emit("github_app_authorization.revoked", None, also_hook=also, sender=user)
    else:
        shown = app_serializers.grant(ctx.urls, grant)
        ctx.emit("application_grant.deleted", None, grant=shown, user=user)


def user_of(ctx: Context, row: Row) -> serializers.SimpleUser:
    """Serialize the user of a grant or an authorization."""
    return serializers.simple_user(ctx.urls, accounts.required(ctx.db, row["account_id"]))
