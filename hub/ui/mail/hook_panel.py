"""The part of a hook's page about mails: whether the viewer gets them, and how to change that."""

from typing import Any

from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.errors import Conflict
from store.mail import receivers, subscriptions

ui = Section()

PATH = "/hooks/{hook_id}/mail"
OFF = "Alerts by mail are off. The setting mail_host turns them on."


def check_on(ctx: ViewContext) -> None:
    """Raise Conflict if no mail is sent."""
    if ctx.services.settings.mail_host is None:
        raise Conflict(OFF)


def hook_mail(ctx: ViewContext, hook: Row) -> dict[str, Any] | None:
    """Return who gets mail about a hook. Return None if there is nothing to show to the viewer."""
    caller = ctx.viewer.caller
    if ctx.services.settings.mail_host is None or caller is None or ctx.viewer.is_guest:
        return None
    found = receivers.of_hook(ctx.db, hook["id"])
    left = subscriptions.unsubscribed(ctx.db, caller.account_id, [hook["id"]])
    return {
        "mine": any(row["id"] == caller.account_id for row in found),
        "left": bool(left),
        "others": [row["login"] for row in found if row["id"] != caller.account_id],
    }


@ui.act(f"{PATH}/stop")
def unsubscribe(ctx: ViewContext) -> ActionResult:
    """Send the viewer no more mail about the hook."""
    hook_id, account_id, place = _mine(ctx)
    subscriptions.unsubscribe(ctx.db, account_id, [hook_id])
    return ActionResult(place, "You get no more mail about this hook.")


@ui.act(f"{PATH}/start")
def subscribe(ctx: ViewContext) -> ActionResult:
    """Send the viewer mail about the hook again."""
    hook_id, account_id, place = _mine(ctx)
    subscriptions.subscribe(ctx.db, account_id, [hook_id])
    return ActionResult(place, "You get mail about this hook again.")


def _mine(ctx: ViewContext) -> tuple[int, int, str]:
    """Return the hook, the viewer's account and the hook's page.

    Raises Missing or Forbidden if they may not see the hook, Conflict if they have no account.
    """
    ctx.viewer.check_change_any()
    hook, _ = ctx.viewer.hook(ctx.db, ctx.number("hook_id"))
    if ctx.viewer.caller is None:
        raise Conflict("Only users get mail.")
    return hook["id"], ctx.viewer.caller.account_id, f"{ROOT}/hooks/{hook['id']}"
