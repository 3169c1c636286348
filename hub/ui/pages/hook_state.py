"""Actions that pause, resume, silence and delete a hook, and a live view of its state."""

from typing import Any

from hub.ingest import hook_events
from hub.ui import quiet_times
from hub.ui.pages.hook import PATH, changeable_hook
from hub.ui.pages.hooks import hook_state, marks
from hub.ui.section import ROOT, ActionResult, PanelUpdate, Section
from hub.ui.view_context import ViewContext
from store.clock import SECOND
from store.hook_state import hook_health, hook_pauses, hook_silences

ui = Section()

PACE = 2 * SECOND


@ui.act(f"{PATH}/pause")
def pause_hook(ctx: ViewContext) -> ActionResult:
    """Pause the hook: its deliveries wait."""
    hook, _, place = changeable_hook(ctx)
    hook_pauses.pause(ctx.db, hook)
    notice = "The hook is paused: its deliveries wait, and none is lost."
    return ActionResult(place, notice, fields=("paused_at",))


@ui.act(f"{PATH}/resume")
def resume_hook(ctx: ViewContext) -> ActionResult:
    """End the hook's pause: the deliveries that wait are sent."""
    hook, _, place = changeable_hook(ctx)
    hook_pauses.resume(ctx.db, hook)
    notice = "The pause has ended. Pending deliveries are sent now."
    return ActionResult(place, notice, fields=("paused_at",))


@ui.act(f"{PATH}/silence")
def silence_hook(ctx: ViewContext) -> ActionResult:
    """Silence the hook for a time: it begins no alert. Its deliveries go on."""
    hook, _, place = changeable_hook(ctx)
    until, words = quiet_times.chosen(ctx)
    hook_silences.silence(ctx.db, [hook["id"]], until, ctx.viewer.name)
    return ActionResult(place, f"Silenced for {words}: it begins no alert. Its deliveries go on.")


@ui.act(f"{PATH}/silence/end")
def end_silence(ctx: ViewContext) -> ActionResult:
    """End the hook's silence: it begins alerts again."""
    hook, _, place = changeable_hook(ctx)
    hook_silences.end(ctx.db, [hook["id"]])
    return ActionResult(place, "The silence has ended.")


@ui.live(f"{PATH}/state", who="guest")
def follow_state(ctx: ViewContext, state: Any) -> tuple[Any, list[PanelUpdate]]:
    """Stream the health, the figures and the actions of a hook's page after each change."""
    # After a break, a page no longer shows what it showed at first.
    first = [] if ctx.asked("resumed") else ctx.asked("shown").split(".")
    at, before = state or (0, first)
    if ctx.now - at < PACE:
        return state, []
    values = hook_state(ctx, ctx.viewer.hook(ctx.db, ctx.number("hook_id"))[0])
    found = marks(values)
    names = ["actions"] * (found[:1] != before[:1])
    names += ["health", "figures"] * (found[1:] != before[1:])
    return (ctx.now, found), [PanelUpdate(one, f"_hook_{one}.html", values) for one in names]


@ui.page(f"{PATH}/delete", "hook_delete.html")
def ask_delete(ctx: ViewContext) -> dict[str, Any]:
    """Show what a deletion of the hook would lose."""
    hook, _, _ = changeable_hook(ctx)
    return {"hook": hook_state(ctx, hook)["hook"], "most": hook_health.MOST}


@ui.act(f"{PATH}/delete")
def delete_hook(ctx: ViewContext) -> ActionResult:
    """Delete the hook."""
    hook, _, _ = changeable_hook(ctx)
    hook_events.delete(ctx.context(("meta.deleted",)), hook)
    return ActionResult(f"{ROOT}/hooks", f"Hook {hook['id']} has been deleted.")
