"""The overview: figures, charts and problems of the viewer's repositories."""

from typing import Any

from hub.ui.charts.over_time import Series, stacked
from hub.ui.lists import filters
from hub.ui.pages.hooks import hook_row
from hub.ui.section import ROOT, PanelUpdate, Section
from hub.ui.trends.latency_chart import latency
from hub.ui.view_context import ViewContext
from store import Row
from store.alerts import problems
from store.clock import MINUTE, SECOND
from store.hook_state import hook_health
from store.hooks.hook_targets import EVERYWHERE
from store.monitoring import backlog as backlogs
from store.monitoring import minute_counters
from store.monitoring.minute_counters import PeriodCounts
from store.monitoring.stats import LATE

ui = Section("Overview", "", "user")

# By query value: label, minutes, and minutes per step.
SPANS = {"1h": ("1 hour", 60, 1), "6h": ("6 hours", 360, 5), "24h": ("24 hours", 1440, 30)}
# The number of latest attempts among which the slowest endpoints are found.
WINDOW = 2_000
LISTED = 10
PACE = 2 * SECOND
# The maximum of minutes times owners to add up; most of them have no data.
MOST_COUNTED = 100_000


@ui.page("", "overview.html", figures=True)
def overview(ctx: ViewContext) -> dict[str, Any]:
    """Show the overview."""
    span = ctx.asked("span")
    span = span if span in SPANS else "1h"
    values = summary(ctx, span)
    return {
        **values,
        "span": span,
        "spans": {key: text for key, (text, _, _) in SPANS.items()},
        "live": f"{ROOT}/live?span={span}",
    }


@ui.live("/live", figures=True)
def follow(ctx: ViewContext, state: Any) -> tuple[Any, list[PanelUpdate]]:
    """Stream the overview whenever it has changed."""
    at, before = state or (0, None)
    if ctx.now - at < PACE:
        return state, []
    values = summary(ctx, ctx.asked("span") if ctx.asked("span") in SPANS else "1h")
    seen = (
        values["total"],
        values["backlog"],
        values["failing"],
        values["slowest"],
        ctx.now // MINUTE,
    )
    # The page has just shown this, unless a browser continues after a break.
    if seen == before or (before is None and not ctx.asked("resumed")):
        return (ctx.now, seen), []
    parts = [
        PanelUpdate(name, f"_overview_{name}.html", values)
        for name in ("figures", "charts", "hooks")
    ]
    return (ctx.now, seen), parts


def summary(ctx: ViewContext, span: str) -> dict[str, Any]:
    """Return the figures, the charts, and the hooks with problems."""
    repo_ids = ctx.repositories()
    org_ids = filters.organizations(ctx)
    text, minutes, step = SPANS[span]
    until = ctx.now // MINUTE + 1
    first = (until - minutes) // step * step
    most = MOST_COUNTED // minutes
    counted = None if repo_ids is None else repo_ids[-most:]
    counted_orgs = _organizations(org_ids)[:most]
    found = minute_counters.between(ctx.db, first, until, step, counted, counted_orgs)
    total = PeriodCounts()
    for one in found.values():
        total.add_period(one)
    last = found.get((until - 1 - first) // step * step + first, PeriodCounts())
    backlog = _backlog(ctx, repo_ids, org_ids)
    failing = hook_health.unhealthy(ctx.db, repo_ids, LISTED, org_ids=org_ids)
    return {
        "total": total,
        "last": last,
        "step": step,
        "minutes": minutes,
        "text": text,
        "quantiles": [total.quantile(share) for share in (0.5, 0.95, 0.99)],
        "backlog": backlog,
        "alarm": (alarm := _alarm(ctx, backlog, failing)),
        "trouble": alarm is not None or ctx.has_trouble(),
        "slowest": hook_health.slowest(ctx.db, repo_ids, WINDOW, LISTED, org_ids),
        "failing": [hook_row(row, ctx.now) for row in failing],
        "charts": _charts(found, list(range(first, until, step)), step),
        "figures": ctx.figures if ctx.viewer.operator else None,
        "with_installation": EVERYWHERE in org_ids,
        "left_out": len(repo_ids or ()) - len(counted or ()),
        "left_out_organizations": len(_organizations(org_ids)) - len(counted_orgs),
        "origin": f"{ctx.origin}{ctx.services.urls.prefix}",
        "manual": f"{ctx.services.urls.prefix}/docs",
    }


def _organizations(org_ids: list[int]) -> list[int]:
    """Return the organizations, newest first, without EVERYWHERE: it has no counts of its own."""
    return sorted((org_id for org_id in org_ids if org_id != EVERYWHERE), reverse=True)


def _backlog(
    ctx: ViewContext, repo_ids: list[int] | None, org_ids: list[int]
) -> dict[str, int] | None:
    if repo_ids is not None:
        mine = counted = backlogs.of_owners(ctx.db, repo_ids, org_ids)
        if EVERYWHERE in org_ids:
            counted = backlogs.of_owners(ctx.db, repo_ids, _organizations(org_ids))
        oldest = mine.oldest_due_at
        counts = {"due": mine.due, "late": mine.late, "later": mine.later, "held": 0}
        # The success rate leaves out what is not among the counts of deliveries.
        counts["missing"] = counted.late + counted.later
        age = 0 if oldest is None else ctx.now - oldest
    elif ctx.figures is None:
        return None
    else:
        every = ctx.figures
        counts = {"due": every.due, "late": every.late, "later": every.later, "held": every.held}
        age = every.age
    waiting = counts["due"] + counts["later"] + counts["held"]
    return {"missing": counts["late"] + counts["later"], **counts, "waiting": waiting, "age": age}


def _alarm(
    ctx: ViewContext, backlog: dict[str, int] | None, failing: list[Row]
) -> dict[str, int] | None:
    """Return the figures of an alarm if deliveries have been due for long, or wait for an endpoint
    that has failed for long.

    If every problem is muted, there is no alarm, and the result is None.
    """
    if backlog is None:
        return None
    since = failing[0]["failing_first"] if failing else None
    fails = since is not None and since < ctx.now - LATE
    many = backlog["late"] + (backlog["later"] if fails else 0)
    org_ids = ctx.organizations()
    if not many or problems.are_all_muted(ctx.db, ctx.repositories(), org_ids):
        return None
    return {"many": many, "failing": failing[0]["total"] if fails else 0, "since": since or 0}


def _charts(found: dict[int, PeriodCounts], minutes: list[int], step: int) -> list[Any]:
    tally = [found.get(minute) or PeriodCounts() for minute in minutes]
    moments = [minute * MINUTE for minute in minutes]
    each = "per minute" if step == 1 else f"per {step} minutes"
    return [
        stacked(
            "Deliveries and events",
            f"attempts and events {each}",
            moments,
            [
                Series("delivered", "good", [one.delivered for one in tally]),
                Series("failed", "bad", [one.failed for one in tally]),
            ],
            [Series("events", "busy", [one.events for one in tally], "solid")],
        ),
        latency(
            "from the event to the receiver's response, for successful first attempts",
            moments,
            tally,
        ),
    ]
