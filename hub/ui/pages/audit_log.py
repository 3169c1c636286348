"""The audit log: its entries, and the check of its integrity."""

from dataclasses import replace
from typing import Any

from hub.ui.lists import filters, paging, views
from hub.ui.section import ROOT, PanelUpdate, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.audit import audit_check, audit_log
from store.audit.audit_check import Chain

ui = Section("Audit", "/audit", "operator", second=True)

PAGE = 50
# The number of entries checked per step.
PORTION = 2_000


@ui.page("/audit", "audit.html", who="operator")
def list_entries(look: ViewContext) -> dict[str, Any]:
    """List the entries that match the query, newest first."""
    asked = filters.period(look)
    chosen = {**{name: look.asked(name, 500) for name in ("who", "what")}, **asked.chosen}
    before = look.asked_number("before")
    rows = audit_log.page(
        look.db,
        limit=PAGE + 1,
        before=before,
        since=asked.since,
        until=asked.until,
        actor=chosen["who"] or None,
        action=chosen["what"] or None,
    )
    last = rows[PAGE - 1]["id"] if len(rows) > PAGE else None
    return {
        "entries": [entry_row(row) for row in rows[:PAGE]],
        "chosen": chosen,
        "filtered": any(chosen.values()),
        "ranges": filters.RANGES,
        "problem": asked.problem,
        "views": views.of_list(look, f"{ROOT}/audit", chosen),
        "older": paging.older(f"{ROOT}/audit", chosen, last),
        "newest": paging.first(f"{ROOT}/audit", chosen) if before else "",
    }


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
def check_chain(look: ViewContext) -> dict[str, Any]:
    """Check the first entries. The rest is checked while the page is open."""
    chain, more = _checked(look, audit_check.start_check(look.db))
    return {"chain": chain, "more": more, "last": audit_log.chain_head(look.db)[0]}


@ui.live("/audit/check/live", who="operator")
def continue_check(look: ViewContext, state: Any) -> tuple[Any, list[PanelUpdate]]:
    """Stream the check of the next entries, to the end."""
    chain, more = state or (audit_check.start_check(look.db), True)
    if not more:
        return state, []
    chain, more = _checked(look, chain)
    values = {"chain": chain, "more": more, "last": audit_log.chain_head(look.db)[0]}
    return (chain, more), [PanelUpdate("chain", "_chain.html", values)]


def _checked(look: ViewContext, chain: Chain) -> tuple[Chain, bool]:
    """Return the chain after one more step, and whether more entries follow."""
    chain = replace(chain, problems=[*chain.problems])
    before = chain.count
    audit_check.check(look.db, chain, PORTION)
    return chain, chain.count - before == PORTION
