"""Usage reports: the finished ones, and the ones in progress."""

from operator import itemgetter
from typing import Any

from hub.api.assistant.assistant_metrics import READ
from hub.api.assistant.report_links import link
from hub.settings import HubSettings
from hub.ui.lists import filters, paging
from hub.ui.lists.frame import filter_values
from hub.ui.lists.newest import NewestList
from hub.ui.lists.sorting import Sorting
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store import Row
from store.assistant import report_queries, usage_days
from store.errors import Missing

PAGE = 50
ENTERPRISES = 200
LIST = NewestList(
    f"{ROOT}/reports",
    Sorting(
        "-created", report=False, enterprise=False, days=True, lines=True, size=True, created=True
    ),
    {
        "report": itemgetter("kind"),
        "enterprise": itemgetter("slug"),
        "days": itemgetter("first_day", "last_day"),
        "lines": itemgetter("lines"),
        "size": itemgetter("size"),
        "created": itemgetter("id"),
    },
    PAGE,
)
POLICIES = {
    "enabled": ("good", "shown"),
    "disabled": ("none", "not shown: the policy is disabled"),
    "unconfigured": ("warn", "not shown: the policy is not configured"),
}


def _offered(settings: HubSettings, viewer: DashboardViewer) -> bool:
    return viewer.is_covered(READ)


ui = Section("Reports", "/reports", "user", _offered, second=True)


@ui.page("/reports", "reports.html")
def list_reports(ctx: ViewContext) -> dict[str, Any]:
    """List the enterprises, and the reports of one or all of them."""
    found = report_queries.enterprises(ctx.db, _account(ctx), ENTERPRISES)
    asked = filters.period(ctx)
    chosen = {"enterprise": ctx.asked("enterprise", 100), **asked.chosen}
    wanted = [row for row in found if chosen["enterprise"] in ("", row["slug"])]
    ids = [row["id"] for row in wanted]
    rows, values = LIST.page(
        ctx,
        chosen,
        lambda limit, before: report_queries.page(
            ctx.db, ids, limit=limit, before=before, times=asked.times
        ),
        lambda: report_queries.count(ctx.db, ids, asked.times),
    )
    open_ids = {row["id"] for row in wanted if row["usage_metrics"] == "enabled"}
    return {
        **values,
        "enterprises": [_enterprise(row) for row in found],
        **filter_values(chosen, asked),
        "path": paging.first(LIST.path, {**chosen, "sort": values["sort"]}),
        "reports": [_report(ctx, row, open_ids) for row in rows],
        "root": ctx.services.urls.root,
    }


def _account(ctx: ViewContext) -> int | None:
    """Return the account whose enterprises are shown; None for all.

    Raises Forbidden if the token does not cover reports, and Missing if it is limited to accounts.
    """
    caller = ctx.viewer.caller
    ctx.viewer.check_token(READ)
    if caller is not None and caller.target_id is not None:
        raise Missing("enterprise")
    return None if caller is None or caller.site_admin else caller.account_id


def _enterprise(row: Row) -> dict[str, Any]:
    kind, said = POLICIES[row["usage_metrics"]]
    last = row["last_day"]
    return {**row, "kind": kind, "said": said, "last": usage_days.iso(last) if last else ""}


def _report(ctx: ViewContext, row: Row, open_ids: set[int]) -> dict[str, Any]:
    """Return a report's values for the template, with a link if the viewer may download it."""
    first, last = usage_days.iso(row["first_day"]), usage_days.iso(row["last_day"])
    kind, state = "good", "current"
    if row["made_at"] is None:
        kind, state = "busy", "being made"
    elif row["replaced_at"] is not None:
        kind, state = "none", "replaced"
    is_there = state == "current" and row["enterprise_id"] in open_ids
    seconds = ctx.services.settings.report_link_seconds
    return {
        **row,
        "days": first if first == last else f"{first} to {last}",
        "state_kind": kind,
        "state": state,
        "file": link(ctx.db, ctx.services.urls, row, seconds) if is_there else "",
    }
