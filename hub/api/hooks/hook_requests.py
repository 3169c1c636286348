"""Requests to create and change hooks, whichever target they have."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, MaxLen
from pydantic import with_config
from typing_extensions import TypedDict

from hub.ingest import hook_events
from hub.rest import serializers
from hub.rest.context import Context, Services
from hub.rest.validation import Text
from store import Row
from store.clock import SECOND
from store.errors import Invalid
from store.hooks import hook_secrets, hooks
from store.hooks.hook_options import DeliveryOptions
from store.hooks.hook_targets import HookTarget

Url = Annotated[Text, MaxLen(2048)]
Events = Annotated[list[Annotated[Text, MaxLen(100)]], MaxLen(200)]


# Explicit, because otherwise the rule of an enclosing type would apply here too.
@with_config({"extra": "ignore"})
class NewHookConfig(TypedDict, total=False):
    """A hook's configuration.

    A secret of asterisks, as responses show it, means the stored secret.
    """

    url: Url
    content_type: Literal["json", "form"]
    secret: Annotated[Text, MaxLen(1024)] | None
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


async def check_new_hook(services: Services, body: NewHook) -> None:
    """Check that a new hook has a URL, and may use it and its token URL. Raises Invalid if not."""
    config = body.get("config", {})
    require_url(config)
    await services.validate_callback(config["url"])
    await check_token_url(services, body.get("delivery"))


def require_url(config: NewHookConfig) -> None:
    """Check that the configuration of a new hook has a URL, and no hidden secret.

    Raises Invalid if not.
    """
    if not config.get("url"):
        raise Invalid("a hook requires a URL", field="url", code="missing_field", resource="Hook")
    if config.get("secret") == serializers.HIDDEN:
        raise Invalid(
            "asterisks mean the stored secret, and a new hook has none",
            field="secret",
            resource="Hook",
        )


async def check_hook_change(services: Services, body: HookChange) -> None:
    """Check that a hook may use its new URL and token URL. Raises Invalid if not."""
    await check_hook_config(services, body.get("config", {}))
    await check_token_url(services, body.get("delivery"))


async def check_hook_config(services: Services, body: NewHookConfig) -> None:
    """Check that a hook may use the URL in a new configuration, if any. Raises Invalid if not."""
    if "url" in body:
        await services.validate_callback(body["url"])


async def check_token_url(services: Services, options: DeliveryOptions | None) -> None:
    """Check that the options' token URL, if any, may be requested. Raises Invalid if not."""
    if options is None or options.oauth2 is None:
        return
    try:
        await services.validate_callback(options.oauth2.token_url)
    except Invalid as error:
        message = f"token_url: {error}"
        raise Invalid(message, field="oauth2", code="custom", resource="Hook") from None


def created(
    ctx: Context, target: HookTarget, body: Mapping[str, Any], oauth_app_id: int | None = None
) -> Row:
    """Create a hook as a request describes it, and send it a ping."""
    hook = hooks.create(
        ctx.db,
        target,
        events=body.get("events", ["push"]),
        active=body.get("active", True),
        options=merged({}, body.get("delivery")),
        most=ctx.hooks_per_event,
        oauth_app_id=oauth_app_id,
        **settled(body["config"]),
    )
    hook_events.ping(ctx, hook)
    return hook


def changed(ctx: Context, hook: Row, body: Mapping[str, Any]) -> Row:
    """Change a hook as a request describes it."""
    hook = hooks.lock(ctx.db, hook)
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
