"""Repository webhooks (group 21): the hooks themselves, also those made with `POST /hub`."""

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
from store.delivery import deliveries, event_queries, hook_secrets, hooks
from store.delivery.hook_options import DeliveryOptions
from store.errors import Invalid

ops = OperationGroup("repos", hook_id=hooks.get)

READ = on_repo("webhooks", "read", role="admin", scopes=("read:repo_hook", "repo"))
WRITE = on_repo("webhooks", "write", role="admin", scopes=("write:repo_hook", "repo"))

Url = Annotated[str, MaxLen(2048)]
Events = Annotated[list[Annotated[str, MaxLen(100)]], MaxLen(200)]


# Said, because what holds it would pass its own rule on.
@with_config({"extra": "ignore"})
class NewHookConfig(TypedDict, total=False):
    """A secret of asterisks, as it is shown, stands for the one there is."""

    url: Url
    content_type: Literal["json", "form"]
    secret: Annotated[str, MaxLen(1024)] | None
    # Two, for many who read schemas know enums of one type alone.
    insecure_ssl: Literal["0", "1"] | Literal[0, 1]


@with_config({"extra": "forbid"})
class HookConfigChange(NewHookConfig, total=False):
    """`secret_overlap`: for how many seconds the former secret signs beside a new one; 0 ends an
    overlap.
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


async def judge_new(house: Services, body: NewHook) -> None:
    """A new hook's URL has to be there, and one that may be used."""
    config = body.get("config", {})
    if not config.get("url"):
        raise Invalid("a hook needs a URL", field="url", code="missing_field", resource="Hook")
    if config.get("secret") == serializers.HIDDEN:
        raise Invalid(
            "asterisks stand for a secret that is kept already, and a new hook has none",
            field="secret",
            resource="Hook",
        )
    await house.validate_callback(config["url"])


async def judge_changed(house: Services, body: HookChange) -> None:
    """A hook's new URL has to be one that may be used."""
    await judge_config(house, body.get("config", {}))


async def judge_config(house: Services, body: NewHookConfig) -> None:
    """The same, where the configuration is the body."""
    if "url" in body:
        await house.validate_callback(body["url"])


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

    It is sent a ping. `delivery` says how its deliveries differ from the server's settings. 422
    where one of its events has as many hooks as the setting hooks_per_event allows.
    """
    hook = hooks.create(
        ctx.db,
        repo["id"],
        events=body.get("events", ["push"]),
        active=body.get("active", True),
        options=merged({}, body.get("delivery")),
        most=ctx.hooks_per_event,
        **settled(body["config"]),
    )
    hook_events.ping(ctx, repo, hook)
    return serialize_hook(ctx, repo, hook)


@ops("GET /repos/{owner}/{repo}/hooks/{hook_id}", READ)
def get_webhook(ctx: Context, repo: Row, hook: Row) -> serializers.Hook:
    """Get a repository webhook"""
    return serialize_hook(ctx, repo, hook)


@ops("PATCH /repos/{owner}/{repo}/hooks/{hook_id}", WRITE, before=judge_changed)
def update_webhook(ctx: Context, repo: Row, hook: Row, body: HookChange) -> serializers.Hook:
    """Update a repository webhook

    A `config` replaces the one there is, all but its URL: a secret that is left out is gone.
    Members of `delivery` change one by one; null lets the server's setting apply again.
    """
    changes: dict[str, Any] = {"events": changed_events(hook, body)}
    if "config" in body:
        changes |= {"secret": None, **settled(body["config"])}
        if body["config"].get("secret") == serializers.HIDDEN:
            del changes["secret"]
    if "active" in body:
        changes["active"] = body["active"]
    if "delivery" in body:
        changes["options"] = merged(hook["options"], body["delivery"])
    return serialize_hook(
        ctx, repo, hooks.update(ctx.db, hook, most=ctx.hooks_per_event, **changes)
    )


@ops("DELETE /repos/{owner}/{repo}/hooks/{hook_id}", WRITE, emits=("meta.deleted",))
def delete_webhook(ctx: Context, repo: Row, hook: Row) -> None:
    """Delete a repository webhook

    One that listens to `meta` is told so as its last event.
    """
    hook_events.delete(ctx, repo, hook)


@ops("GET /repos/{owner}/{repo}/hooks/{hook_id}/config", READ)
def get_webhook_config_for_repo(ctx: Context, hook: Row) -> serializers.HookConfig:
    """Get a webhook configuration for a repository"""
    return serializers.hook_config(hook)


@ops("PATCH /repos/{owner}/{repo}/hooks/{hook_id}/config", WRITE, before=judge_config)
def update_webhook_config_for_repo(
    ctx: Context, hook: Row, body: HookConfigChange
) -> serializers.HookConfig:
    """Update a webhook configuration for a repository

    What is left out stays as it is; an empty secret removes the one there is. A new secret signs
    alone from now on, unless `secret_overlap` says for how many seconds (at most 7 days) the former
    one signs, too: then `webhook-signature` has both signatures, and `X-Hub-Signature-256` and
    `X-Hub-Signature-256-Alternate` one each. `secret_overlap` 0 alone ends that.
    """
    changes = given(body)
    if body.get("secret") == serializers.HIDDEN:
        del changes["secret"]
    if changes.pop("secret_overlap", 0) and "secret" not in changes:
        raise Invalid(
            "an overlap begins with a new secret", field="secret_overlap", resource="Hook"
        )
    if "secret_overlap" in body:
        changes["overlap"] = body["secret_overlap"] * SECOND
    return serializers.hook_config(hooks.update(ctx.db, hook, **changes))


@ops("POST /repos/{owner}/{repo}/hooks/{hook_id}/pings", READ, emits=("ping",))
def ping_webhook(ctx: Context, repo: Row, hook: Row) -> None:
    """Ping a repository webhook"""
    hook_events.ping(ctx, repo, hook)


@ops("POST /repos/{owner}/{repo}/hooks/{hook_id}/tests", READ)
def test_push_webhook(ctx: Context, repo: Row, hook: Row) -> None:
    """Test the push repository webhook

    Sends the repository's latest push once more, if the hook subscribes to pushes.
    """
    latest = event_queries.latest(ctx.db, repo["id"], "push")
    if latest is not None and {"push", "*"} & set(hook["events"]):
        deliveries.redeliver(ctx.db, latest["id"], hook["id"], repo["id"])


def given(config: NewHookConfig) -> dict[str, Any]:
    """What a configuration says, as the store names it."""
    found: dict[str, Any] = dict(config)
    if "insecure_ssl" in config:
        found["insecure_ssl"] = str(config["insecure_ssl"]) == "1"
    return found


def settled(config: NewHookConfig) -> dict[str, Any]:
    """A whole configuration: what it leaves out is the default."""
    return {"content_type": "form", "insecure_ssl": False, **given(config)}


def changed_events(hook: Row, body: HookChange) -> list[str]:
    """The events after `events`, `add_events` and `remove_events`, in this order."""
    removed = set(body.get("remove_events", []))
    wanted = body.get("events", hook["events"]) + body.get("add_events", [])
    return [name for name in wanted if name not in removed]


def merged(options: dict[str, Any], changes: DeliveryOptions | None) -> dict[str, Any]:
    """Delivery options with changes; a change to None takes an option out."""
    changed = changes.model_dump(exclude_unset=True) if changes else {}
    return {name: value for name, value in (options | changed).items() if value is not None}


ops.current(hook=hook_events.snapshot)
