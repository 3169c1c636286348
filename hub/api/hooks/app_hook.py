"""The hook of an app: its configuration and its deliveries, for the app itself.

`hook_deliveries` has the operations that are the same for the hooks of repositories.
"""

from pydantic import with_config

from hub.api.hooks.delivery_items import DeliveryQuery, WebhookDeliveryItem, page_of
from hub.api.hooks.hook_access import ITSELF
from hub.api.hooks.hook_requests import (
    HookConfigChange,
    check_hook_config,
    reconfigured,
    require_url,
    settled,
)
from hub.ingest import hook_events
from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import CursorPaging
from store import Row
from store.apps import app_hooks
from store.errors import existing

ops = OperationGroup("apps")


@with_config({"extra": "ignore"})
class AppHookConfigChange(HookConfigChange, total=False):
    """A change of a hook's configuration, as for a repository's hook."""


@ops("GET /app/hook/config", ITSELF, errors=(404,))
def get_webhook_config_for_app(ctx: Context) -> serializers.HookConfig:
    """Get a webhook configuration for an app

    404 if the app has no webhook.
    """
    return serializers.hook_config(_hook(ctx))


@ops(
    "PATCH /app/hook/config",
    ITSELF,
    before=check_hook_config,
    needs_body=True,
    emits=("ping",),
)
def update_webhook_config_for_app(
    ctx: Context, body: AppHookConfigChange
) -> serializers.HookConfig:
    """Update a webhook configuration for an app

    Members that are left out stay as they are, as for a repository's webhook; `secret_overlap` is
    the same too. If the app has no webhook, a `url` creates it, and it receives a ping.
    """
    app = ctx.required_app
    hook = app_hooks.of(ctx.db, app["id"])
    if hook is not None:
        return serializers.hook_config(reconfigured(ctx, hook, body))
    require_url(body)
    config = settled(body)
    config.pop("secret_overlap", None)
    made = app_hooks.create(ctx.db, app, **config)
    hook_events.ping(ctx, made)
    return serializers.hook_config(made)


@ops("GET /app/hook/deliveries", ITSELF, errors=(404,))
def list_webhook_deliveries(
    ctx: Context, page: CursorPaging, query: DeliveryQuery
) -> list[WebhookDeliveryItem]:
    """List deliveries for an app webhook

    Newest first. Beside `status`, the query may filter by `event`, `since` (a time) and `guid`.
    """
    return page_of(ctx, _hook(ctx), page, query)


def _hook(ctx: Context) -> Row:
    return existing(app_hooks.of(ctx.db, ctx.required_app["id"]), "hook")
