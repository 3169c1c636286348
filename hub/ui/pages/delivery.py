"""One delivery attempt: request, response, timing, and redelivery."""

from typing import Any

from hub.http.json_excerpt import excerpt
from hub.ui import status_text
from hub.ui.charts.waterfall import waterfall
from hub.ui.comparison.attempts import AttemptComparison, compare
from hub.ui.curl import command
from hub.ui.formatting import masked
from hub.ui.pages import deliveries
from hub.ui.payload_bytes import content_of
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.signature import signatures
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store import Row
from store.delivery import attempt_feed, attempts, redeliveries
from store.errors import Missing, existing
from store.hooks import hooks
from store.hooks.hook_targets import MANY_OWNERS, target_of

ui = Section()

PATH = "/deliveries/{delivery_id}"
# The part of a payload that is shown; the API returns all of it.
MOST_SHOWN = 64 * 1024


@ui.page(PATH, "delivery.html", who="guest")
def show_delivery(ctx: ViewContext) -> dict[str, Any]:
    """Show an attempt with its request and response, and the other attempts of its delivery."""
    attempt, hook = _found(ctx)
    delivery = attempt_feed.get_delivery(ctx.db, attempt["delivery_id"])
    body = content_of(attempt)
    others = attempts.of_delivery(ctx.db, attempt["delivery_id"])
    state = {} if delivery is None else {"state": delivery["state"]}
    if delivery is not None:
        delivery["untried"] = status_text.untried(delivery)
        delivery["tried_at"] = status_text.tried_at(delivery, ctx.now)
    may_change = hook is not None and ctx.viewer.may_change(ctx.db, hook)
    return {
        "attempt": deliveries.attempt_row({"state": None, **attempt, **state}, ctx.now),
        "delivery": delivery,
        "hook": hook,
        "others": [deliveries.attempt_row({"state": None, **one}, ctx.now) for one in others],
        "comparison": _comparison(ctx, attempt, others),
        "request": readable(body),
        "response": readable((attempt["response_body"] or "").encode()),
        "size": None if body is None else len(body),
        "timings": attempt["timings"],
        "waterfall": waterfall(attempt["timings"]),
        "signatures": signatures(ctx.db, hook, attempt),
        "curl": command(attempt if may_change else {**attempt, "url": masked(attempt["url"])}),
        "may_change": may_change,
        "may_see_event": not ctx.viewer.is_guest and ctx.may_see_event(attempt),
    }


def _comparison(ctx: ViewContext, attempt: Row, others: list[Row]) -> AttemptComparison | None:
    """Return the comparison with the attempt before, or None if this is the first one kept."""
    earlier = [one["id"] for one in others if one["id"] < attempt["id"]]
    before = attempts.get(ctx.db, attempt["hook_id"], earlier[-1]) if earlier else None
    return None if before is None else compare(before, attempt)


def _found(ctx: ViewContext) -> tuple[Row, Row | None]:
    """Return the attempt and its hook. Raises Missing or Forbidden."""
    number = ctx.number("delivery_id")
    origin = existing(attempt_feed.origin_of(ctx.db, number), "delivery")
    hook = _hook(ctx, ctx.viewer, origin)
    attempt = existing(attempts.get(ctx.db, origin["hook_id"], number), "delivery")
    return {**origin, **attempt}, hook


def _hook(ctx: ViewContext, viewer: DashboardViewer, origin: Row) -> Row | None:
    """Return the hook of an attempt. Operators get None if it is deleted, and for WebSub.

    Raises Missing or Forbidden.
    """
    hook = hooks.by_id(ctx.db, origin["hook_id"])
    is_gone = hook is None or hook["deleted_at"] is not None
    shown = None if is_gone and viewer.operator else viewer.hook(ctx.db, origin["hook_id"])[0]
    if viewer.operator and (shown is None or target_of(shown).kind in MANY_OWNERS):
        # The hook does not show whose event it was.
        viewer.left_of(ctx.db, origin["repo_id"], origin["org_id"])
    return shown


@ui.act(f"{PATH}/again")
def redeliver(ctx: ViewContext) -> ActionResult:
    """Redeliver the attempt's event to its hook, with the same id."""
    attempt, hook = _found(ctx)
    if hook is None:
        raise Missing("hook")
    ctx.viewer.check_change(ctx.db, hook)
    redeliveries.once_more(ctx.db, attempt["event_id"], hook["id"], attempt["repo_id"])
    return ActionResult(
        f"{ROOT}/hooks/{hook['id']}",
        "The redelivery has been queued, with the same id.",
        ids={"id": attempt["id"]},
    )


def readable(body: bytes | None) -> dict[str, Any] | None:
    """Return the beginning of a body as text, indented if it is JSON. Return None for None."""
    if body is None:
        return None
    text, is_cut = excerpt(body, MOST_SHOWN)
    return {"text": text, "is_cut": is_cut, "is_empty": not text}
