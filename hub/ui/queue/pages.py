"""The page of a hook's pending deliveries, and the retry at once."""

from typing import Any

from hub.ui import status_text
from hub.ui.lists import paging
from hub.ui.pages.hook import PATH, changeable_hook
from hub.ui.pages.hooks import hook_state
from hub.ui.queue.reasons import reason
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.delivery.listing import pending_list
from store.hook_state import hook_retries
from store.hooks.hook_targets import MANY_OWNERS, target_of

ui = Section()

PAGE = 50


@ui.page(f"{PATH}/pending", "pending.html")
def list_pending(ctx: ViewContext) -> dict[str, Any]:
    """List the deliveries that wait for a hook, the next ones first."""
    hook, _ = ctx.viewer.hook(ctx.db, ctx.number("hook_id"))
    skip = paging.skipped(ctx)
    found = [] if _hides(ctx, hook) else pending_list.page(ctx.db, hook["id"], PAGE + 1, skip)
    rows = [_row(row, ctx.now) for row in found[:PAGE]]
    state, place = hook_state(ctx, hook), f"{ROOT}/hooks/{hook['id']}/pending"
    is_due = bool(rows) and rows[0]["tried_at"] is None
    return {
        **state,
        "rows": rows,
        "why": reason(hook | state["hook"], ctx.now, is_due=is_due, is_pulled=state["pulled"]),
        "newest": place if skip else "",
        "older": paging.following(place, {}, skip + PAGE, more=len(found) > PAGE),
    }


def _hides(ctx: ViewContext, hook: Row) -> bool:
    """Return whether the list would have events of owners whose events they may not see."""
    return target_of(hook).kind in MANY_OWNERS and bool(ctx.viewer.hidden_owners(ctx.db))


def _row(row: Row, now: int) -> dict[str, Any]:
    named = status_text.event_name(row["event"], row["action"])
    return {**status_text.with_state(row, now), "named": named}


@ui.act(f"{PATH}/retry")
def retry_pending(ctx: ViewContext) -> ActionResult:
    """Try the pending deliveries of a hook now, and end its rests."""
    hook, _, place = changeable_hook(ctx)
    many = hook_retries.retry_now(ctx.db, hook)
    tried = "1 delivery is" if many == 1 else f"{many} deliveries are"
    notice = f"{tried} tried now, one at a time until one succeeds."
    return ActionResult(f"{place}/pending", notice, fields=("due_at",))
