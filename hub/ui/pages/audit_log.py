"""The audit log: its entries, and the check of its integrity."""

from dataclasses import replace
from operator import itemgetter
from typing import Any

from hub.ui.lists import filters, paging
from hub.ui.lists.frame import filter_values
from hub.ui.lists.newest import NewestList
from hub.ui.lists.sorting import Sorting
from hub.ui.section import ROOT, PanelUpdate, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.audit import audit_check, audit_log, audit_search
from store.audit.audit_check import Chain
from store.audit.audit_search import AuditFilter

ui = Section("Audit", "/audit", "operator", second=True)

PAGE = 50
# The number of entries checked per step.
PORTION = 2_000
LIST = NewestList(
    f"{ROOT}/audit",
    Sorting("-time", time=True, actor=False, action=False, target=False, outcome=False),
    {"time": itemgetter("id")}
    | {name: itemgetter(name) for name in ("actor", "action", "target", "outcome")},
    PAGE,
)


@ui.page("/audit", "audit.html", who="operator")
def list_entries(ctx: ViewContext) -> dict[str, Any]:
    """List the entries that match the query, newest first or in the chosen order."""
    asked = filters.period(ctx)
    chosen = {**{name: ctx.asked(name, 500) for name in ("who", "what", "on")}, **asked.chosen}
    limits = AuditFilter(since=asked.since, until=asked.until, target=chosen["on"] or None)
    wanted, partial = audit_search.find(ctx.db, chosen["who"], chosen["what"], limits)
    rows, values = LIST.page(
        ctx,
        chosen,
        lambda limit, before: audit_search.page(
            ctx.db, replace(wanted, before=before), limit=limit
        ),
        lambda: audit_search.count(ctx.db, wanted),
        audit_log.chain_head(ctx.db)[0] + 1,
    )
    return {
        **values,
        **_searched(ctx, wanted, chosen, values),
        "partial": partial,
        "entries": [entry_row(row) for row in rows],
        **filter_values(chosen, asked),
    }


def _searched(
    ctx: ViewContext, wanted: AuditFilter, chosen: dict[str, str], values: dict[str, Any]
) -> dict[str, Any]:
    """Return the values of the page that say how far a search for a target came."""
    before, matches = ctx.asked_number("before"), values["matches"]
    earlier = audit_search.searched_from(ctx.db, replace(wanted, before=before))
    searched = audit_search.MOST_SEARCHED if earlier else 0
    if matches and wanted.target:
        # The number is of the newest entries, which a page further back does not show.
        matches = None if before else replace(matches, examined=searched)
    further = paging.older(LIST.path, {**chosen, "sort": values["sort"]}, earlier)
    return {"searched": searched, "further": further, "matches": matches}


def entry_row(row: Row) -> dict[str, Any]:
    """Return an entry's values for the template."""
    details = dict(row["details"])
    fields = details.pop("fields", [])
    return {
        **row,
        "fields": fields,
        "more": [(name, str(value)) for name, value in details.items()],
        "kind": "good" if row["outcome"] in ("done", "ok") or row["outcome"][:1] == "2" else "bad",
    }


@ui.page("/audit/check", "audit_check.html", who="operator")
def check_chain(ctx: ViewContext) -> dict[str, Any]:
    """Check the first entries. The rest is checked while the page is open."""
    return _check_values(ctx, *_checked(ctx, audit_check.start_check(ctx.db)))


@ui.live("/audit/check/live", who="operator")
def continue_check(ctx: ViewContext, state: Any) -> tuple[Any, list[PanelUpdate]]:
    """Stream the check of the next entries, to the end."""
    chain, more = state or (audit_check.start_check(ctx.db), True)
    if not more:
        return state, []
    chain, more = _checked(ctx, chain)
    values = _check_values(ctx, chain, more)
    return (chain, more), [PanelUpdate("chain", "_chain.html", values)]


def _check_values(ctx: ViewContext, chain: Chain, more: bool) -> dict[str, Any]:
    return {"chain": chain, "more": more, "last": audit_log.chain_head(ctx.db)[0]}


def _checked(ctx: ViewContext, chain: Chain) -> tuple[Chain, bool]:
    """Return the chain after one more step, and whether more entries follow."""
    chain = chain.copy()
    before = chain.count
    audit_check.check(ctx.db, chain, PORTION)
    return chain, chain.count - before == PORTION
