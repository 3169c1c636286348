"""The events that a hook receives about itself, from every way to create or delete it."""

import random
from collections.abc import Sequence
from typing import Any

from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.urls import Urls
from store import Connection, Row
from store.delivery.outbox import SnapshotEvent
from store.hooks import hooks

EMITS = ("ping", "meta.deleted")
ZEN = (
    "A bell that is heard needs to ring once.",
    "Say what happened, then be silent.",
    "Write a promise down before you make it.",
    "A late message beats a lost one.",
    "Listen before you ask again.",
)


def ping(ctx: Context, repo: Row, hook: Row) -> None:
    """Send a ping to the hook, whether it is subscribed to pings or not."""
    ctx.emit("ping", repo, only_hook=hook["id"], **_payload(serialize_hook(ctx, repo, hook)))


def delete(ctx: Context, repo: Row, hook: Row) -> None:
    """Delete the hook. If it is subscribed to `meta`, its last event reports that."""
    if hook["active"] and {"meta", "*"} & set(hook["events"]):
        ctx.emit(
            "meta.deleted",
            repo,
            only_hook=hook["id"],
            hook_id=hook["id"],
            hook=serialize_hook(ctx, repo, hook),
        )
    hooks.delete(ctx.db, hook)


def serialize_hook(ctx: Context, repo: Row, hook: Row) -> serializers.Hook:
    """Serialize the hook as the API does."""
    last = hooks.last_responses(ctx.db, [hook["id"]]).get(hook["id"])
    return serializers.hook(ctx.urls, repo, hook, last)


def snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    """Return a ping for each hook, which goes to that hook only."""
    last = hooks.last_responses(db, [row["id"] for row in rows])
    return [
        SnapshotEvent(
            "ping",
            repo["id"],
            _payload(serializers.hook(urls, repo, row, last.get(row["id"]))),
            row["id"],
        )
        for row in rows
    ]


def _payload(hook: serializers.Hook) -> dict[str, Any]:
    # The random choice has no security purpose.
    return {"zen": random.choice(ZEN), "hook_id": hook["id"], "hook": hook}  # noqa: S311
