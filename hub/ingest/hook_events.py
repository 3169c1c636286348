"""What a hook is told about itself, however it was made or ended."""

import random
from collections.abc import Sequence
from typing import Any

from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.urls import Urls
from store import Connection, Row
from store.delivery import hooks
from store.delivery.outbox import SnapshotEvent

EMITS = ("ping", "meta.deleted")
ZEN = (
    "A bell that is heard needs to ring once.",
    "Say what happened, then be silent.",
    "What was promised is written down first.",
    "A late message beats a lost one.",
    "Listen before you ask again.",
)


def ping(ctx: Context, repo: Row, hook: Row) -> None:
    """Send the hook a ping, whether it subscribes to any or not."""
    ctx.emit("ping", repo, only_hook=hook["id"], **_payload(serialize_hook(ctx, repo, hook)))


def delete(ctx: Context, repo: Row, hook: Row) -> None:
    """End the hook, and tell it so as its last event if it listens to that."""
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
    """The hook as the API shows it."""
    last = hooks.last_responses(ctx.db, [hook["id"]]).get(hook["id"])
    return serializers.hook(ctx.urls, repo, hook, last)


def snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    """What is told of hooks as they are: each is pinged, and hears of itself alone."""
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
    # Random for its charm alone.
    return {"zen": random.choice(ZEN), "hook_id": hook["id"], "hook": hook}  # noqa: S311
