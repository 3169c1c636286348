"""Hooks of repositories (group 21), including those created with `POST /hub`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, MaxLen
from pydantic import with_config
from typing_extensions import TypedDict

from hub.auth.access import on_repo
from hub.ingest import hook_events
from hub.ingest.hook_events import serialize_hook
from hub.rest import serializers
from hub.rest.context import Context, Services
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from store import Row
from store.clock import SECOND
from store.delivery import deliveries, event_queries
from store.errors import Invalid
from store.hooks import hook_secrets, hooks
from store.hooks.hook_options import DeliveryOptions
from store.hooks.hook_targets import HookTarget, repository

ops = OperationGroup("repos", hook_id=hooks.get)

READ = on_repo("webhooks", "read", role="admin", scopes=("read:repo_hook", "repo"))
WRITE = on_repo("webhooks", "write", role="admin", scopes=("write:repo_hook", "repo"))

Url = Annotated[str, MaxLen(2048)]
Events = Annotated[list[Annotated[str, MaxLen(100)]], MaxLen(200)]


# Explicit, because otherwise the rule of an enclosing type would apply here too.
@with_config({"extra": "ignore"})
class NewHookConfig(TypedDict, total=False):
    """A hook's configuration.

    A secret of asterisks, as responses show it, means the stored secret.
    """

    url: Url
    content_type: Literal["json", "form"]
    secret: Annotated[str, MaxLen(1024)] | None
    # Two unions, because many schema tools only support enums of one type.
    insecure_ssl: Literal["0", "1"] | Literal[0, 1]


@with_config({"extra": "forbid"})
class HookConfigChange(NewHookConfig, total=False):
    """A change of a hook's configuration.

    `secret_overlap` is the time in seconds during which the old secret also signs; 0 ends it.
    """

    secret_overlap: Annotated[int, Ge(0), Le(hook_secrets.MOST_OVERLAP // SECOND)]


@with_config({"extra": "forbid"})
class NewHook(TypedDict, total=False):
    name: Literal["web"]
    config: NewHookConfig
    events: Events
    active: bool
    delivery: DeliveryOptions


class HookChange(TypedDict, total=False):
    name: Literal["web"]
    config: NewHookConfig
    events: Events
    add_events: Events
    remove_events: Events
    active: bool
    delivery: DeliveryOptions


async def judge_new(services: Services, body: NewHook) -> None:
    """Check that a new hook has a URL, and may use it. Raises Invalid if not."""
    config = body.get("config", {})
    if not config.get("url"):
        raise Invalid("a hook requires a URL", field="url", code="missing_field", resource="Hook")
    if config.get("secret") == serializers.HIDDEN:
        raise Invalid(
            "asterisks mean the stored secret, and a new hook has none",
            field="secret",
            resource="Hook",
        )
    await services.validate_callback(config["url"])


async def judge_changed(services: Services, body: HookChange) -> None:
    """Check that a hook may use its new URL. Raises Invalid if not."""
    await judge_config(services, body.get("config", {}))


async def judge_config(services: Services, body: NewHookConfig) -> None:
    """Check the same if the body is the configuration itself."""
    if "url" in body:
        await services.validate_callback(body["url"])


@ops("GET /repos/{owner}/{repo}/hooks", READ)
def list_webhooks(ctx: Context, repo: Row, page: NumberedPaging) -> list[serializers.Hook]:
    """List repository webhooks"""
    page.count(lambda most: hooks.count(ctx.db, repo["id"], most))
    rows = hooks.page(ctx.db, repo["id"], limit=page.limit, offset=page.offset)
    last = hooks.last_responses(ctx.db, [row["id"] for row in rows])
    return [serializers.hook(ctx.urls, repo, row, last.get(row["id"])) for row in rows]


@ops("POST /repos/{owner}/{repo}/hooks", WRITE, status=201, emits=("ping",), before=judge_new)
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


@ops("PATCH /repos/{owner}/{repo}/hooks/{hook_id}", WRITE, before=judge_changed)
def update_webhook(ctx: Context, repo: Row, hook: Row, body: HookChange) -> serializers.Hook:
    """Update a repository webhook

    A `config` replaces the present one except for its URL; a secret that is left out is removed.
    Members of `delivery` change one by one; null restores the server's setting.
    """
    return serialize_hook(ctx, repo, changed(ctx, hook, body))


@ops("DELETE /repos/{owner}/{repo}/hooks/{hook_id}", WRITE, emits=("meta.deleted",))
def delete_webhook(ctx: Context, hook: Row) -> None:
    """Delete a webhook

    If it is subscribed to `meta`, its last event reports the deletion.
    """
    hook_events.delete(ctx, hook)


@ops("GET /repos/{owner}/{repo}/hooks/{hook_id}/config", READ)
def get_webhook_config_for_repo(ctx: Context, hook: Row) -> serializers.HookConfig:
    """Get a webhook configuration for a repository"""
    return serializers.hook_config(hook)


@ops("PATCH /repos/{owner}/{repo}/hooks/{hook_id}/config", WRITE, before=judge_config)
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


@ops("POST /repos/{owner}/{repo}/hooks/{hook_id}/pings", READ, emits=("ping",))
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


def created(ctx: Context, target: HookTarget, body: Mapping[str, Any]) -> Row:
    """Create a hook as a request describes it, and send it a ping."""
    hook = hooks.create(
        ctx.db,
        target,
        events=body.get("events", ["push"]),
        active=body.get("active", True),
        options=merged({}, body.get("delivery")),
        most=ctx.hooks_per_event,
        **settled(body["config"]),
    )
    hook_events.ping(ctx, hook)
    return hook


def changed(ctx: Context, hook: Row, body: Mapping[str, Any]) -> Row:
    """Change a hook as a request describes it."""
    changes: dict[str, Any] = {"events": changed_events(hook, body)}
    if "config" in body:
        changes |= {"secret": None, **settled(body["config"])}
        if body["config"].get("secret") == serializers.HIDDEN:
            del changes["secret"]
    if "active" in body:
        changes["active"] = body["active"]
    if "delivery" in body:
        changes["options"] = merged(hook["options"], body["delivery"])
    return hooks.update(ctx.db, hook, most=ctx.hooks_per_event, **changes)


def reconfigured(ctx: Context, hook: Row, body: HookConfigChange) -> Row:
    """Change a hook's configuration as a request describes it."""
    changes = given(body)
    if body.get("secret") == serializers.HIDDEN:
        del changes["secret"]
    if changes.pop("secret_overlap", 0) and "secret" not in changes:
        raise Invalid(
            "secret_overlap requires a new secret", field="secret_overlap", resource="Hook"
        )
    if "secret_overlap" in body:
        changes["overlap"] = body["secret_overlap"] * SECOND
    return hooks.update(ctx.db, hook, **changes)


def given(config: NewHookConfig) -> dict[str, Any]:
    """Return the given members of a configuration under the store's names."""
    found: dict[str, Any] = dict(config)
    if "insecure_ssl" in config:
        found["insecure_ssl"] = str(config["insecure_ssl"]) == "1"
    return found


def settled(config: NewHookConfig) -> dict[str, Any]:
    """Return a whole configuration, with defaults for members that are left out."""
    return {"content_type": "form", "insecure_ssl": False, **given(config)}


def changed_events(hook: Row, body: Mapping[str, Any]) -> list[str]:
    """Return the events after `events`, `add_events` and `remove_events`, in this order."""
    removed = set(body.get("remove_events", []))
    wanted = body.get("events", hook["events"]) + body.get("add_events", [])
    return [name for name in wanted if name not in removed]


def merged(options: dict[str, Any], changes: DeliveryOptions | None) -> dict[str, Any]:
    """Return delivery options with changes. A change to None removes the option."""
    changed = changes.model_dump(exclude_unset=True) if changes else {}
    return {name: value for name, value in (options | changed).items() if value is not None}


ops.current(hook=hook_events.snapshot)
