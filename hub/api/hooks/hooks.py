"""Hooks of repositories (group 21), including those created with `POST /hub`.

Organizations' hooks share the operations that do not depend on a hook's target.
"""

from hub.api.hooks.hook_access import TO_ORGANIZATION, WRITE_HOOK, HookOperations
from hub.api.hooks.hook_requests import (
    HookChange,
    HookConfigChange,
    NewHook,
    changed,
    check_hook_change,
    check_hook_config,
    check_new_hook,
    created,
    reconfigured,
)
from hub.auth.hook_rights import READ, WRITE
from hub.ingest import hook_events
from hub.ingest.hook_events import serialize_hook
from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.paging import NumberedPaging
from store import Row
from store.delivery import attempts, deliveries, event_queries
from store.hooks import hook_queries
from store.hooks.hook_targets import repository

hook_ops = HookOperations()
ops = hook_ops.group


@ops("GET /repos/{owner}/{repo}/hooks", READ)
def list_webhooks(ctx: Context, repo: Row, page: NumberedPaging) -> list[serializers.Hook]:
    """List repository webhooks"""
    page.count(lambda most: hook_queries.count(ctx.db, repo["id"], most))
    rows = hook_queries.page(ctx.db, repo["id"], **page.bounds)
    last = attempts.last_responses(ctx.db, [row["id"] for row in rows])
    return [serializers.hook(ctx.urls, repo, row, last.get(row["id"])) for row in rows]


@ops("POST /repos/{owner}/{repo}/hooks", WRITE, status=201, emits=("ping",), before=check_new_hook)
def create_webhook(ctx: Context, repo: Row, body: NewHook) -> serializers.Hook:
    """Create a repository webhook

    The hook receives a ping. `delivery` overrides the server's settings for its deliveries. 422 if
    one of its events has as many hooks as the setting hooks_per_event allows.
    """
    return serialize_hook(ctx, repo, created(ctx, repository(repo["id"]), body))


@ops("GET /repos/{owner}/{repo}/hooks/{hook_id}", READ)
def get_webhook(ctx: Context, repo: Row, hook: Row) -> serializers.Hook:
    """Get a repository webhook"""
    return serialize_hook(ctx, repo, hook)


@ops("PATCH /repos/{owner}/{repo}/hooks/{hook_id}", WRITE, before=check_hook_change)
def update_webhook(ctx: Context, repo: Row, hook: Row, body: HookChange) -> serializers.Hook:
    """Update a repository webhook

    A `config` replaces the present one except for its URL; a secret that is left out is removed.
    Members of `delivery` change one by one; null restores the server's setting.
    """
    return serialize_hook(ctx, repo, changed(ctx, hook, body))


@hook_ops("DELETE", WRITE_HOOK, emits=("meta.deleted",))
def delete_webhook(ctx: Context, hook: Row) -> None:
    """Delete a webhook

    If it is subscribed to `meta`, its last event reports the deletion.
    """
    hook_events.delete(ctx, hook)


@ops("GET /repos/{owner}/{repo}/hooks/{hook_id}/config", READ)
def get_webhook_config_for_repo(ctx: Context, hook: Row) -> serializers.HookConfig:
    """Get a webhook configuration for a repository"""
    return serializers.hook_config(hook)


@ops("PATCH /repos/{owner}/{repo}/hooks/{hook_id}/config", WRITE, before=check_hook_config)
def update_webhook_config_for_repo(
    ctx: Context, hook: Row, body: HookConfigChange
) -> serializers.HookConfig:
    """Update a webhook configuration for a repository

    Members that are left out stay as they are; an empty secret removes the present one. A new
    secret replaces the old one at once, unless `secret_overlap` gives the time in seconds (at most
    7 days) during which the old one also signs. `webhook-signature` then has both signatures, and
    `X-Hub-Signature-256` and `X-Hub-Signature-256-Alternate` have one each. `secret_overlap` 0
    without a secret ends that time.
    """
    return serializers.hook_config(reconfigured(ctx, hook, body))


@hook_ops("POST /pings", (READ, TO_ORGANIZATION), emits=("ping",))
def ping_webhook(ctx: Context, hook: Row) -> None:
    """Ping a webhook"""
    hook_events.ping(ctx, hook)


@ops("POST /repos/{owner}/{repo}/hooks/{hook_id}/tests", READ)
def test_push_webhook(ctx: Context, repo: Row, hook: Row) -> None:
    """Test the push repository webhook

    Sends the repository's latest push once more, if the hook is subscribed to pushes.
    """
    latest = event_queries.latest(ctx.db, repo["id"], "push")
    if latest is not None and {"push", "*"} & set(hook["events"]):
        deliveries.redeliver(ctx.db, latest["id"], hook["id"], repo["id"])


ops.declare_snapshots(hook=hook_events.snapshot)
