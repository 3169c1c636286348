"""Apps: the one that asks, and any by its name in URLs."""

from hub.api.apps import app_serializers
from hub.api.apps.app_serializers import App
from hub.auth.access import public
from hub.auth.app_access import as_integration
from hub.auth.credentials import Caller
from hub.auth.organization_access import may_do
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from store import Connection, Row
from store.accounts import accounts, apps
from store.errors import Missing

ops = OperationGroup("apps", app_slug=apps.by_slug)

ITSELF = as_integration()


@ops("GET /app", ITSELF)
def get_authenticated(ctx: Context) -> App:
    """Get the authenticated app"""
    return app_serializers.own_app(ctx.urls, ctx.db, ctx.required_app)


@ops("GET /apps/{app_slug}", public())
def get_by_slug(ctx: Context, app_slug: Row) -> App:
    """Get an app

    An app that is not public is shown to its own tokens, and to its owner with a token that is
    valid for the owner's account. Members of an organization that owns it need a token with the
    scope `read:org` or the permission `members` (read).
    """
    if not (app_slug["public"] or _belongs(ctx.db, ctx.caller, app_slug)):
        raise Missing("app_slug")
    return app_serializers.app(ctx.urls, ctx.db, app_slug)


def _belongs(db: Connection, caller: Caller | None, app: Row) -> bool:
    if caller is None:
        return False
    if caller.app_id == app["id"]:
        return True
    if caller.installation_id is not None:
        return False
    if caller.account_id == app["owner_id"]:
        return caller.within(db, caller.account_id).reaches_account(caller.account_id)
    owner = accounts.required(db, app["owner_id"])
    return may_do(db, caller, owner, ("members", "read"), "read:org") is not None
