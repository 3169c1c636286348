"""Hooks of organizations, which get the events of all their repositories.

`hooks` and `hook_deliveries` have the operations that are the same for a repository's hooks.
"""

from typing import Literal, NotRequired

from pydantic import with_config
from typing_extensions import TypedDict

from hub.api.hooks.hook_access import OF_ORGANIZATION, TO_ORGANIZATION, creator_of
from hub.api.hooks.hook_requests import (
    Events,
    HookConfigChange,
    NewHookConfig,
    changed,
    check_hook_change,
    check_hook_config,
    check_new_hook,
    created,
    reconfigured,
)
from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import OrganizationHook
from store import Row
from store.accounts import organizations
from store.hook_state import hook_list
from store.hooks import hooks
from store.hooks.hook_options import DeliveryOptions
from store.hooks.hook_targets import organization

ops = OperationGroup("orgs", org=organizations.by_login, hook_id=hooks.get_of_organization)


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


@ops("GET /orgs/{org}/hooks", OF_ORGANIZATION)
def list_webhooks(ctx: Context, org: Row, page: NumberedPaging) -> list[OrganizationHook]:
    """List organization webhooks

    An OAuth application sees only the hooks that were created with its tokens, and no other token
    sees these. This holds for all operations on an organization's hooks.
    """
    listed = (ctx.db, org["id"], creator_of(ctx.caller))
    page.count(lambda most: hook_list.count_of_creator(*listed, most))
    rows = hook_list.page_of_creator(*listed, **page.bounds)
    return [serializers.organization_hook(ctx.urls, org, row) for row in rows]


@ops("POST /orgs/{org}/hooks", TO_ORGANIZATION, status=201, emits=("ping",), before=check_new_hook)
def create_webhook(ctx: Context, org: Row, body: NewOrganizationHook) -> OrganizationHook:
    """Create an organization webhook

    The hook gets the events of all repositories that the organization has or will have, and its own
    events, such as `membership` and `team`. It receives a ping. `delivery` overrides the server's
    settings for its deliveries. 422 if one of its events has as many hooks of the organization as
    the setting hooks_per_event allows.
    """
    hook = created(ctx, organization(org["id"]), body, creator_of(ctx.caller))
    return serializers.organization_hook(ctx.urls, org, hook)


@ops("GET /orgs/{org}/hooks/{hook_id}", OF_ORGANIZATION)
def get_webhook(ctx: Context, org: Row, hook: Row) -> OrganizationHook:
    """Get an organization webhook"""
    return serializers.organization_hook(ctx.urls, org, hook)


@ops("PATCH /orgs/{org}/hooks/{hook_id}", TO_ORGANIZATION, before=check_hook_change)
def update_webhook(
    ctx: Context, org: Row, hook: Row, body: OrganizationHookChange
) -> OrganizationHook:
    """Update an organization webhook

    A `config` replaces the present one except for its URL; a secret that is left out is removed.
    Members of `delivery` change one by one; null restores the server's setting.
    """
    return serializers.organization_hook(ctx.urls, org, changed(ctx, hook, body))


@ops("GET /orgs/{org}/hooks/{hook_id}/config", OF_ORGANIZATION)
def get_webhook_config_for_org(ctx: Context, hook: Row) -> serializers.HookConfig:
    """Get a webhook configuration for an organization"""
    return serializers.hook_config(hook)


@ops("PATCH /orgs/{org}/hooks/{hook_id}/config", TO_ORGANIZATION, before=check_hook_config)
def update_webhook_config_for_org(
    ctx: Context, hook: Row, body: OrganizationHookConfigChange
) -> serializers.HookConfig:
    """Update a webhook configuration for an organization

    Members that are left out stay as they are, as for a repository's webhook; `secret_overlap` is
    the same too.
    """
    return serializers.hook_config(reconfigured(ctx, hook, body))
