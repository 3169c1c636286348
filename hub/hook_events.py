"""What a hook is told about itself, however it was made or ended."""

import random

from hub import shapes
from hub.context import Context
from store import Row, hooks

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
    ctx.emit(
        "ping",
        repo,
        only_hook=hook["id"],
        zen=random.choice(ZEN),  # noqa: S311 - a greeting
        hook_id=hook["id"],
        hook=shown(ctx, repo, hook),
    )


def delete(ctx: Context, repo: Row, hook: Row) -> None:
    """End the hook, and tell it so as its last event if it listens to that."""
    if hook["active"] and {"meta", "*"} & set(hook["events"]):
        ctx.emit(
            "meta.deleted",
            repo,
            only_hook=hook["id"],
            hook_id=hook["id"],
            hook=shown(ctx, repo, hook),
        )
    hooks.delete(ctx.db, hook)


def shown(ctx: Context, repo: Row, hook: Row) -> shapes.Hook:
    """The hook as the API shows it."""
    last = hooks.last_responses(ctx.db, [hook["id"]]).get(hook["id"])
    return shapes.hook(ctx.urls, repo, hook, last)
