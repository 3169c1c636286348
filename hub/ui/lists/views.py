"""The saved views of a list, as its page shows them."""

from dataclasses import dataclass
from urllib.parse import parse_qsl

from hub.ui.lists.paging import first, query
from hub.ui.section import ROOT
from hub.ui.view_context import ViewContext
from store import Row
from store.accounts import saved_views

# The lists whose filters can be saved.
LISTS = {
    f"{ROOT}/{name}"
    for name in (
        *("deliveries", "events", "hooks", "problems", "replay", "mail"),
        *("topics", "topics/followers", "imports", "jobs", "audit", "reports", "apps", "limits"),
    )
}


@dataclass(frozen=True, slots=True)
class SavedViews:
    """The views of a list, and the filters that would be saved now."""

    page: str
    query: str
    rows: list[Row]
    may_share: bool


def account_of(ctx: ViewContext) -> int | None:
    """Return the viewer's account; None for the administrators' token."""
    return None if ctx.viewer.caller is None else ctx.viewer.caller.account_id


def of_list(ctx: ViewContext, page: str, chosen: dict[str, str]) -> SavedViews:
    """Return the views of a list, each with its `url`, and whether it is shown `now`."""
    now = query(chosen)
    rows = [
        {
            **row,
            "url": first(page, dict(parse_qsl(row["query"]))),
            "now": dict(parse_qsl(row["query"])) == dict(parse_qsl(now)),
            "removable": bool(row["mine"]) or ctx.viewer.may_run,
        }
        for row in saved_views.of_page(ctx.db, account_of(ctx), page)
    ]
    return SavedViews(page, now, rows, ctx.viewer.operator)
