"""Hooks of organizations, which get the events of all their repositories, and their deliveries."""

from typing import Literal, NotRequired

from pydantic import with_config
from typing_extensions import TypedDict

from hub.api.hooks import hook_deliveries
from hub.api.hooks import hooks as repository_hooks
from hub.api.hooks.hooks import (
    Events,
    HookConfigChange,
    NewHookConfig,
    changed,
    created,
    judge_changed,
    judge_config,
    judge_new,
    reconfigured,
)
from hub.auth.organization_access import on_org
from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import OrganizationHook
from store import Row
from store.accounts import organizations
from store.delivery import attempts
from store.hooks import hooks
from store.hooks.hook_options import DeliveryOptions
from store.hooks.hook_targets import organization

ops = OperationGroup(
    "orgs",
    org=organizations.by_login,
    hook_id=hooks.get_of_organization,
    delivery_id=attempts.get,
)

SCOPES = ("admin:org_hook",)
READ = on_org("organization_hooks", "read", owner=True, hidden=True, scopes=SCOPES)
WRITE = on_org("organization_hooks", "write", owner=True, hidden=True, scopes=SCOPES)


class NewOrganizationHook(TypedDict):
    name: Literal["web"]
    config: NewHookConfig
    events: NotRequired[Events]
    active: NotRequired[bool]
    delivery: NotRequired[DeliveryOptions]


class OrganizationHookChange(TypedDict, total=False):
    name: Literal["web"]
    config: NewHookConfig
    events: Events
    active: bool
    delivery: DeliveryOptions


@with_config({"extra": "ignore"})
class OrganizationHookConfigChange(HookConfigChange, total=False):
    """A change of a hook's configuration, as for a repository's hook."""


@ops("GET /orgs/{org}/hooks", READ)
def list_webhooks(ctx: Context, org: Row, page: NumberedPaging) -> list[OrganizationHook]:
    """List organization webhooks"""
    target = organization(org["id"])
    page.count(lambda most: hooks.count(ctx.db, target, most))
    rows = hooks.page(ctx.db, target, limit=page.limit, offset=page.offset)
    return [serializers.organization_hook(ctx.urls, org, row) for row in rows]


@ops("POST /orgs/{org}/hooks", WRITE, status=201, emits=("ping",), before=judge_new)
def create_webhook(ctx: Context, org: Row, body: NewOrganizationHook) -> OrganizationHook:
    """Create an organization webhook

    The hook gets the events of all repositories that the organization has or will have, and its own
    events, such as `membership` and `team`. It receives a ping. `delivery` overrides the server's
    settings for its deliveries. 422 if one of its events has as many hooks of the organization as
    the setting hooks_per_event allows.
    """
    hook = created(ctx, organization(org["id"]), body)
    return serializers.organization_hook(ctx.urls, org, hook)


@ops("GET /orgs/{org}/hooks/{hook_id}", READ)
def get_webhook(ctx: Context, org: Row, hook: Row) -> OrganizationHook:
    """Get an organization webhook"""
    return serializers.organization_hook(ctx.urls, org, hook)


@ops("PATCH /orgs/{org}/hooks/{hook_id}", WRITE, before=judge_changed)
def update_webhook(
    ctx: Context, org: Row, hook: Row, body: OrganizationHookChange
) -> OrganizationHook:
    """Update an organization webhook

    A `config` replaces the present one except for its URL; a secret that is left out is removed.
    Members of `delivery` change one by one; null restores the server's setting.
    """
    return serializers.organization_hook(ctx.urls, org, changed(ctx, hook, body))


@ops("GET /orgs/{org}/hooks/{hook_id}/config", READ)
def get_webhook_config_for_org(ctx: Context, hook: Row) -> serializers.HookConfig:
    """Get a webhook configuration for an organization"""
    return serializers.hook_config(hook)


@ops("PATCH /orgs/{org}/hooks/{hook_id}/config", WRITE, before=judge_config)
def update_webhook_config_for_org(
    ctx: Context, hook: Row, body: OrganizationHookConfigChange
) -> serializers.HookConfig:
    """Update a webhook configuration for an organization

    Members that are left out stay as they are, as for a repository's webhook; `secret_overlap` is
    the same too.
    """
    return serializers.hook_config(reconfigured(ctx, hook, body))


# The rest does not depend on what the hook belongs to.
ops("DELETE /orgs/{org}/hooks/{hook_id}", WRITE, emits=("meta.deleted",))(
    repository_hooks.delete_webhook
)
ops("POST /orgs/{org}/hooks/{hook_id}/pings", WRITE, emits=("ping",))(repository_hooks.ping_webhook)
ops("GET /orgs/{org}/hooks/{hook_id}/deliveries", READ)(hook_deliveries.list_webhook_deliveries)
ops("GET /orgs/{org}/hooks/{hook_id}/deliveries/{delivery_id}", READ)(
    hook_deliveries.get_webhook_delivery
)
ops(
    "POST /orgs/{org}/hooks/{hook_id}/deliveries/{delivery_id}/attempts",
    WRITE,
    status=202,
    errors=(422,),
)(hook_deliveries.redeliver_webhook_delivery)
