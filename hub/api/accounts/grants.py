"""Grants (group 1): the applications that may act for a user, managed with the password."""

from hub.api.accounts import app_events, app_serializers
from hub.api.accounts.app_serializers import Grant
from hub.api.accounts.by_password import LEAVE_OUT, USER, ClientIdQuery, filtered
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from store import Row
from store.accounts import grants

ops = OperationGroup("oauth-authorizations", grant_id=grants.get)
ops.declare_events(application_grant=app_events.GrantEvent)


@ops("GET /applications/grants", USER, deprecated=LEAVE_OUT, errors=(404,))
def list_grants(ctx: Context, page: NumberedPaging, query: ClientIdQuery) -> list[Grant]:
    """List your grants

    One for each application that may act for you, whatever the number of its tokens.
    """
    account_id, app_id = ctx.required_caller.account_id, filtered(ctx, query)
    page.count(lambda most: grants.count(ctx.db, account_id, most, app_id=app_id))
    rows = grants.page(ctx.db, account_id, **page.bounds, app_id=app_id)
    return [app_serializers.grant(ctx.urls, row) for row in rows]


@ops("GET /applications/grants/{grant_id}", USER, deprecated=LEAVE_OUT)
def get_grant(ctx: Context, grant: Row) -> Grant:
    """Get a single grant"""
    return app_serializers.grant(ctx.urls, grant)


@ops(
    "DELETE /applications/grants/{grant_id}",
    USER,
    deprecated=LEAVE_OUT,
    emits=app_events.REVOKED,
)
def delete_grant(ctx: Context, grant: Row) -> None:
    """Delete a grant

    Also deletes all tokens that the application has for you.
    """
    app_events.revoke(ctx, grant)
