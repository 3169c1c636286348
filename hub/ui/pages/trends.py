"""How one hook, or all hooks of a host, have been doing over time. A host can be silenced."""

from typing import Any
from urllib.parse import quote

from hub.http.errors import Forbidden
from hub.ui import quiet_times
from hub.ui.formatting import pluralize
from hub.ui.pages.hook import PATH
from hub.ui.pages.hooks import hook_row
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.trends.summary import summary
from hub.ui.view_context import ViewContext
from store.errors import Missing
from store.hook_state import hook_list, hook_silences
from store.hook_state.hook_list import HookFilter
from store.monitoring import name_search

ui = Section()

# A host's page lists this many hooks, the newest; its charts have all that are found.
LISTED = 100


@ui.page(f"{PATH}/trends", "hook_trends.html", who="guest")
def show_trends(ctx: ViewContext) -> dict[str, Any]:
    """Show a hook's success, latency and status codes over time."""
    hook, repo = ctx.viewer.hook(ctx.db, ctx.number("hook_id"))
    return {"hook": hook, "repo": repo, **summary(ctx, [hook["id"]])}


@ui.page("/hosts/{host}", "host.html")
def show_host(ctx: ViewContext) -> dict[str, Any]:
    """Show the hooks of a host, with the trends of all of them."""
    host, ids = _hooks(ctx)
    wanted = HookFilter(ctx.repositories(), ctx.organizations(), hook_ids=ids)
    rows = hook_list.page(ctx.db, wanted, limit=LISTED)
    return {
        "host": host,
        "hooks": [hook_row(row, ctx.now) for row in rows],
        "ids": ids,
        "most": LISTED,
        "silenced": len(hook_silences.active(ctx.db, ids)),
        "quiet_times": quiet_times.CHOICES,
        **summary(ctx, ids),
    }


def _hooks(ctx: ViewContext) -> tuple[str, list[int]]:
    """Return the host in the path, and the ids of its hooks. Raises Missing if there are none."""
    host = ctx.values["host"][:300]
    ids = name_search.hooks_of_host(ctx.db, host, ctx.repositories(), ctx.organizations())
    if not ids:
        raise Missing("host")
    return host, ids


@ui.act("/hosts/{host}/silence")
def silence_host(ctx: ViewContext) -> ActionResult:
    """Silence those hooks of a host that the viewer may change."""
    place, ids = _changeable(ctx)
    until, words = quiet_times.chosen(ctx)
    hook_silences.silence(ctx.db, ids, until, ctx.viewer.name)
    return ActionResult(place, f"Silenced {pluralize(len(ids), 'hook')} for {words}.")


@ui.act("/hosts/{host}/silence/end")
def end_silence_of_host(ctx: ViewContext) -> ActionResult:
    """End the silences of the hooks of a host."""
    place, ids = _changeable(ctx)
    hook_silences.end(ctx.db, ids)
    return ActionResult(place, "The silence has ended.")


def _changeable(ctx: ViewContext) -> tuple[str, list[int]]:
    """Return the path of a host's page, and its hooks that the viewer may change.

    Raises Forbidden if they may change none.
    """
    ctx.viewer.check_change_any()
    host, ids = _hooks(ctx)
    found = ctx.viewer.changeable(ctx.db, ids)
    if not found:
        raise Forbidden("You may look at these hooks, but change none of them.")
    return f"{ROOT}/hosts/{quote(host, safe='')}", found
