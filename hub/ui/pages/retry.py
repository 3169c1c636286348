"""Retries of selected deliveries: what will be sent, and how far it is."""

from typing import Any

from hub.ui import status_text
from hub.ui.section import ROOT, ActionResult, PanelUpdate, Section
from hub.ui.view_context import ViewContext, natural
from store import Row
from store.delivery import redeliveries
from store.errors import Invalid
from store.hooks import hooks
from store.hooks.hook_targets import EVERYWHERE, MANY_OWNERS, target_of

ui = Section()

MOST = 200


def _selected(ctx: ViewContext, given: list[str]) -> list[Row]:
    """Return what the viewer selected and may see, each with the `reason` why it cannot be sent."""
    ids = dict.fromkeys(number for text in given[:MOST] if (number := natural(text)))
    rows = _visible(ctx, redeliveries.candidates(ctx.db, ids))
    changeable = _changeable(ctx, {row["hook_id"] for row in rows})
    for row in rows:
        row["named"] = status_text.event_name(row["event"], row["action"])
        row["reason"] = _reason(row, changeable)
    return rows


def _visible(ctx: ViewContext, rows: list[Row]) -> list[Row]:
    """Return the rows to whose hooks the viewer may see deliveries.

    Events of a repository also reach the hooks around it, which its administrators do not see.
    """
    repo_ids = ctx.repositories()
    if repo_ids is None:
        return rows
    org_ids = ctx.organizations()
    found = {number: hooks.by_id(ctx.db, number) for number in {row["hook_id"] for row in rows}}

    def is_visible(row: Row) -> bool:
        hook = found[row["hook_id"]]
        if hook is not None and target_of(hook).kind in MANY_OWNERS:
            may_see = ctx.viewer.may_see_event(ctx.db, row["repo_id"], row["org_id"])
            return EVERYWHERE in org_ids and may_see
        if hook is not None and hook["repo_id"] is None:
            return hook["org_id"] in org_ids
        return row["repo_id"] in repo_ids and (hook is not None or row["hook_id"] < 0)

    return [row for row in rows if is_visible(row)]


def _changeable(ctx: ViewContext, hook_ids: set[int]) -> set[int]:
    found = [hook for number in hook_ids if (hook := hooks.by_id(ctx.db, number))]
    return {hook["id"] for hook in found if ctx.viewer.may_change(ctx.db, hook)}


def _reason(row: Row, changeable: set[int]) -> str:
    if row["hook_id"] < 0:
        return "WebSub deliveries are not sent again"
    if not row["there"]:
        return "the hook was deleted"
    if not row["kept"]:
        return "the payload was deleted"
    return "" if row["hook_id"] in changeable else "you may not change the hook"


@ui.page("/retry", "retry.html")
def plan_retry(ctx: ViewContext) -> dict[str, Any]:
    """Show what a retry will send, and what it cannot send."""
    return {"rows": _selected(ctx, ctx.query.all("attempt"))}


@ui.act("/retry")
def start_retry(ctx: ViewContext) -> ActionResult:
    """Send the selected deliveries once more, under their ids."""
    ctx.viewer.check_change_any()
    rows = [row for row in _selected(ctx, ctx.form.all("attempt")) if not row["reason"]]
    if not rows:
        raise Invalid("Select at least one delivery that can be sent again.")
    made = redeliveries.create(ctx.db, rows)
    named = ",".join(map(str, made))
    hook_ids = sorted({row["hook_id"] for row in rows})
    return ActionResult(
        f"{ROOT}/retried?deliveries={named}",
        "The deliveries are on their way.",
        ids={"hooks": hook_ids, "deliveries": made},
    )


def _progress(ctx: ViewContext) -> dict[str, Any]:
    """Return the state of the deliveries in the query, as far as the viewer may see them."""
    named = ctx.query.get("deliveries", "")[: MOST * 20].split(",")[:MOST]
    ids = [number for text in named if (number := natural(text))]
    rows = [
        {
            **status_text.with_state(row, ctx.now),
            "named": status_text.event_name(row["event"], row["action"]),
        }
        for row in _visible(ctx, redeliveries.of_ids(ctx.db, ids, MOST))
    ]
    states = redeliveries.states(rows)
    return {"rows": rows, "states": states, "open": states["waiting"] > 0}


@ui.page("/retried", "retried.html")
def show_retried(ctx: ViewContext) -> dict[str, Any]:
    """Show how far retried deliveries are."""
    found = _progress(ctx)
    named = ",".join(str(row["id"]) for row in found["rows"])
    return {**found, "live": f"{ROOT}/retried/live?deliveries={named}"}


@ui.live("/retried/live")
def follow_retried(ctx: ViewContext, state: Any) -> tuple[Any, list[PanelUpdate]]:
    """Stream the state of retried deliveries."""
    found = _progress(ctx)
    mark = [(row["id"], row["state"], row["attempts"]) for row in found["rows"]]
    if mark == state:
        return state, []
    return mark, [PanelUpdate("retried", "_retried.html", found)]
