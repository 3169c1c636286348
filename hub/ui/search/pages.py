"""The page of the search, and the list of rejected events."""

from typing import Any

from hub.ui.lists.newest import Keys, NewestList
from hub.ui.lists.sorting import Sorting
from hub.ui.search import results
from hub.ui.section import ROOT, PageElsewhere, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.database.list_order import Matches
from store.delivery import event_lookup, rejections

ui = Section()

PAGE = 50
KEYS: Keys = {
    "time": lambda row: row["id"],
    "sender": lambda row: row["sender"] or "",
    "event": lambda row: row["event"] or "",
}
REJECTED = NewestList(
    f"{ROOT}/rejected", Sorting("-time", time=True, sender=False, event=False), KEYS, PAGE
)


@ui.page("/find", "find.html")
def find(ctx: ViewContext) -> dict[str, Any] | PageElsewhere:
    """Redirect to the page of the only result, or list the results."""
    text = ctx.asked("q")
    found = results.of_id(ctx, text) if text else []
    if len(found) == 1:
        return PageElsewhere(found[0].to)
    rejected = _rejected(ctx, text) if text and not found else []
    if text and not found and not rejected:
        found = results.of_name(ctx, text)
    return {
        "asked": text,
        "found": found,
        "rejected": rejected,
        "sort": "",
        "heads": {},
        "oldest_at": event_lookup.oldest_at(ctx.db),
    }


def _rejected(ctx: ViewContext, guid: str) -> list[Row]:
    return rejections.page(ctx.db, guid=guid) if ctx.viewer.operator else []


@ui.page("/rejected", "rejected.html", who="operator")
def list_rejected(ctx: ViewContext) -> dict[str, Any]:
    """List the rejected events, newest first or in the chosen order."""
    guid = ctx.asked("guid", 128)
    rows, values = REJECTED.page(
        ctx,
        {"guid": guid},
        lambda limit, before: rejections.page(
            ctx.db, limit=limit, before=before, guid=guid or None
        ),
        lambda: Matches(len(rejections.page(ctx.db, limit=rejections.KEPT, guid=guid or None))),
    )
    return {**values, "rejected": rows, "chosen": {"guid": guid}, "filtered": bool(guid)}
