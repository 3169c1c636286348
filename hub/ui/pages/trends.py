"""How one hook, or all hooks of a host, have been doing over time."""

from typing import Any

from hub.ui.pages.hook import PATH
from hub.ui.pages.hooks import hook_row
from hub.ui.section import Section
from hub.ui.trends.summary import summary
from hub.ui.view_context import ViewContext
from store.errors import Missing
from store.hooks import hook_list
from store.hooks.hook_list import HookFilter
from store.monitoring import name_search

ui = Section()

# A host's page lists this many hooks, the newest; its charts have all that are found.
LISTED = 100


@ui.page(f"{PATH}/trends", "hook_trends.html", who="guest")
def show_trends(look: ViewContext) -> dict[str, Any]:
    """Show a hook's success, latency and status codes over time."""
    hook, repo = look.viewer.hook(look.db, look.number("hook_id"))
    return {"hook": hook, "repo": repo, **summary(look, [hook["id"]])}


@ui.page("/hosts/{host}", "host.html")
def show_host(look: ViewContext) -> dict[str, Any]:
    """Show the hooks of a host, with the trends of all of them."""
    host = look.values["host"][:300]
    ids = name_search.hooks_of_host(look.db, host, look.repositories())
    if not ids:
        raise Missing("host")
    rows = hook_list.page(look.db, HookFilter(look.repositories(), hook_ids=ids), limit=LISTED)
    return {
        "host": host,
        "hooks": [hook_row(row, look.now) for row in rows],
        "ids": ids,
        "most": LISTED,
        **summary(look, ids),
    }
