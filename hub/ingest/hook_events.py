"""The events that a hook receives about itself, from every way to create or delete it."""

import random
from collections.abc import Sequence
from typing import Any

from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.organization_serializers import organization
from hub.rest.serializers import SystemHook
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts
from store.delivery import attempts, hook_removal
from store.delivery.outbox import SnapshotEvent
from store.hooks import hooks
from store.hooks.hook_targets import target_of
from store.repositories import repositories

EMITS = ("ping", "meta.deleted")
ZEN = (
    "A bell that is heard needs to ring once.",
    "Say what happened, then be silent.",
    "Write a promise down before you make it.",
    "A late message beats a lost one.",
    "Listen before you ask again.",
)


def ping(ctx: Context, hook: Row) -> None:
    """Send a ping to the hook, whether it is subscribed to pings or not."""
    repo, about, shown = _described(ctx, hook)
    ctx.emit("ping", repo, only_hook=hook["id"], **about, **_payload(shown))


def delete(ctx: Context, hook: Row) -> None:
    """Delete the hook. If it is subscribed to `meta`, its last event reports that.

    Raises Missing if the hook is deleted already.
    """
    hook = hooks.lock(ctx.db, hook)
    if hook["active"] and {"meta", "*"} & set(hook["events"]):
        repo, about, shown = _described(ctx, hook)
        ctx.emit(
            "meta.deleted", repo, only_hook=hook["id"], **about, hook_id=hook["id"], hook=shown
        )
    hook_removal.delete(ctx.db, hook)


def _described(ctx: Context, hook: Row) -> tuple[Row | None, dict[str, Any], SystemHook]:
    """Return the hook's repository, the members of payloads that name another target, and the hook.

    The hook is serialized as in the API's responses.
    """
    target = target_of(hook)
    if target.kind == "repository":
        repo = repositories.get(ctx.db, target.id)
        assert repo is not None, "its hooks are deleted with it"
        return repo, {}, serialize_hook(ctx, repo, hook)
    if target.kind == "organization":
        org = accounts.required(ctx.db, target.id)
        about = {"organization": organization(ctx.urls, org)}
        return None, about, serializers.organization_hook(ctx.urls, org, hook)
    if target.kind == "app":
        return None, {}, serializers.app_hook(hook)
    return None, {}, serializers.system_hook(hook)


def serialize_hook(ctx: Context, repo: Row, hook: Row) -> serializers.Hook:
    """Serialize a repository's hook as in the API's responses."""
    last = attempts.last_responses(ctx.db, [hook["id"]]).get(hook["id"])
    return serializers.hook(ctx.urls, repo, hook, last)


def snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    """Return a ping for each hook, which goes to that hook only."""
    last = attempts.last_responses(db, [row["id"] for row in rows])
    return [
        SnapshotEvent(
            "ping",
            repo["id"],
            _payload(serializers.hook(urls, repo, row, last.get(row["id"]))),
            row["id"],
        )
        for row in rows
    ]


def _payload(hook: SystemHook) -> dict[str, Any]:
    # The random choice has no security purpose.
    return {"zen": random.choice(ZEN), "hook_id": hook["id"], "hook": hook}  # noqa: S311
