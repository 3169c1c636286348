"""The summary of hooks' attempts in a period, with charts."""

from http import HTTPStatus
from typing import Any

from hub.ui.charts.over_time import Chart, Series, stacked
from hub.ui.trends.latency_chart import latency
from hub.ui.view_context import ViewContext
from store.clock import MINUTE
from store.delivery.listing import attempt_durations
from store.monitoring import hook_tallies
from store.monitoring.hook_tallies import NO_ANSWER, HookCounts

# By query value: label, minutes, and minutes per step.
SPANS = {
    "1h": ("1 hour", 60, 5),
    "6h": ("6 hours", 360, 15),
    "24h": ("24 hours", 1440, 60),
    "7d": ("7 days", 7 * 1440, 360),
    "30d": ("30 days", 30 * 1440, 1440),
}
USUAL = "24h"
CLASSES = (
    ("2xx", "good", 2),
    ("3xx", "busy", 3),
    ("4xx", "warn", 4),
    ("5xx", "bad", 5),
    ("no answer", "accent", NO_ANSWER),
)


def summary(ctx: ViewContext, hook_ids: list[int]) -> dict[str, Any]:
    """Return the values of a page about these hooks, for the span in the query."""
    span = ctx.asked("span") if ctx.asked("span") in SPANS else USUAL
    text, minutes, step = SPANS[span]
    until = ctx.now // MINUTE + 1
    # The whole span counts, as in lists. The first step may begin before it.
    first = (ctx.now // MINUTE - minutes) // step * step
    found = hook_tallies.between(ctx.db, hook_ids, first, until, step)
    total = HookCounts()
    for one in found.values():
        total.add_period(one)
    if 0 < total.total <= attempt_durations.MOST:
        # The ranges are wide, so that the estimates may be above all that was measured.
        longest = attempt_durations.longest(ctx.db, hook_ids, first * MINUTE, total.total)
        total.longest = longest
        for one in found.values():
            one.longest = longest
    return {
        "span": span,
        "spans": {key: words for key, (words, _, _) in SPANS.items()},
        "text": text,
        "total": total,
        "quantiles": [total.quantile(share) for share in (0.5, 0.95, 0.99)],
        "codes": [
            {"code": code, "text": _said(code), "many": many}
            for code, many in total.codes.most_common()
        ],
        "charts": _charts(found, list(range(first, until, step)), step),
    }


def _said(code: int) -> str:
    if code == NO_ANSWER:
        return "no answer"
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)


def _charts(found: dict[int, HookCounts], minutes: list[int], step: int) -> list[Chart]:
    tally = [found.get(minute) or HookCounts() for minute in minutes]
    moments = [minute * MINUTE for minute in minutes]
    each = f"per {step} minutes" if step < 60 else f"per {step // 60} hours"
    each = {60: "per hour", 1440: "per day"}.get(step, each)
    bars = [
        Series(label, kind, [one.of_class(hundreds) for one in tally])
        for label, kind, hundreds in CLASSES
    ]
    # Servers also answer with codes that have no class, such as 999.
    rest = [one.total - sum(one.of_class(hundreds) for *_, hundreds in CLASSES) for one in tally]
    bars.append(Series("other", "none", rest))
    return [
        stacked(
            "Status codes",
            f"attempts {each}",
            moments,
            [one for one in bars if any(one.values)] or bars[:1],
        ),
        latency(f"of all attempts, {each}", moments, tally),
    ]
