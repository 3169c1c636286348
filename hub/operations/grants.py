"""Grants (group 1): which applications a user lets act, managed with the user's password."""

from hub import app_events, app_shapes
from hub.app_shapes import Grant
from hub.by_password import LEAVING, USER, OfApp, filtered, whose
from hub.context import Context
from hub.group import Group
from hub.paging import Page
from store import Row, grants

ops = Group("oauth-authorizations", grant_id=grants.get)
ops.tells(application_grant=app_events.GrantEvent)


@ops("GET /applications/grants", USER, deprecated=LEAVING, errors=(404,))
def list_grants(ctx: Context, page: Page, query: OfApp) -> list[Grant]:
    """List your grants

    One for each application that you let act for you, whatever the number of its tokens.
    """
    account_id, app_id = whose(ctx), filtered(ctx, query)
    page.count(lambda most: grants.count(ctx.db, account_id, most, app_id=app_id))
    rows = grants.page(ctx.db, account_id, limit=page.limit, offset=page.offset, app_id=app_id)
    return [app_shapes.grant(ctx.urls, row) for row in rows]


@ops("GET /applications/grants/{grant_id}", USER, deprecated=LEAVING)
def get_grant(ctx: Context, grant: Row) -> Grant:
    """Get a single grant"""
    return app_shapes.grant(ctx.urls, grant)


@ops(
    "DELETE /applications/grants/{grant_id}",
    USER,
    deprecated=LEAVING,
    emits=app_events.REVOKED,
)
def delete_grant(ctx: Context, grant: Row) -> None:
    """Delete a grant

    With it go all tokens that the application has of you.
    """
    app_events.revoke(ctx, grant)
