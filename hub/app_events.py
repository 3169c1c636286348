"""What is told of a user's grants and authorizations, whoever changed them; never a token."""

from collections.abc import Sequence
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hub import app_shapes, shapes
from hub.app_shapes import Authorization, Grant
from hub.context import Context
from hub.emitting import Told
from hub.shapes import SimpleUser
from hub.urls import Urls
from store import Connection, Row, accounts, grants


class GrantEvent(TypedDict):
    """A user, or the app itself, has ended what let an app act for the user"""

    action: Literal["deleted"]
    grant: Grant
    user: SimpleUser
    sender: SimpleUser | None


class AuthorizationEvent(TypedDict):
    """A user's token was made, changed, ended, or has expired

    `token` in it is always empty.
    """

    action: Literal["created", "edited", "deleted", "reset", "expired"]
    authorization: Authorization
    user: SimpleUser
    sender: NotRequired[SimpleUser | None]


REVOKED = ("application_grant.deleted", "github_app_authorization.revoked")


def told(ctx: Context, event: str, row: Row) -> None:
    """Tell of a change of an authorization, as it is now."""
    ctx.emit(
        event,
        None,
        authorization=app_shapes.authorization(ctx.urls, row),
        user=user_of(ctx, row),
    )


def expired(urls: Urls, db: Connection, rows: Sequence[Row]) -> list[Told]:
    """What is told of authorizations that have ended by themselves."""
    users = accounts.of(db, {row["account_id"] for row in rows})
    return [
        (
            None,
            {
                "authorization": app_shapes.authorization(urls, row),
                "user": shapes.simple_user(urls, users[row["account_id"]]),
            },
        )
        for row in rows
    ]


def revoke(ctx: Context, grant: Row) -> None:
    """End a grant with all its tokens, and tell so."""
    grants.delete(ctx.db, grant)
    user = user_of(ctx, grant)
    if grant["app_kind"] == "integration":
        ctx.emit("github_app_authorization.revoked", None, sender=user)
    else:
        shown = app_shapes.grant(ctx.urls, grant)
        ctx.emit("application_grant.deleted", None, grant=shown, user=user)


def user_of(ctx: Context, row: Row) -> shapes.SimpleUser:
    """The user whose grant or authorization this is."""
    account = accounts.get(ctx.db, row["account_id"])
    assert account is not None, "a token has an account"
    return shapes.simple_user(ctx.urls, account)
