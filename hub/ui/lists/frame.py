"""The values that the template of every sorted list receives."""

from typing import Any

from hub.ui.lists import filters, views
from hub.ui.lists.sorting import Sorting
from hub.ui.view_context import ViewContext


def filter_values(chosen: dict[str, str], period: filters.Period) -> dict[str, Any]:
    """Return the values of the filters. `chosen` has the value of each, and of the period."""
    return {
        "chosen": chosen,
        "filtered": any(chosen.values()),
        "ranges": filters.RANGES,
        "problem": period.problem,
    }


def frame(
    ctx: ViewContext, path: str, sorting: Sorting, chosen: dict[str, str], period: filters.Period
) -> dict[str, Any]:
    """Return the values of the filters, the heads of the columns, and the saved views.

    `chosen` has the value of each filter, and of the period.
    """
    sort = sorting.asked(ctx)
    return {
        **filter_values(chosen, period),
        "sort": sort,
        "heads": sorting.heads(sort, path, chosen),
        "views": views.of_list(ctx, path, {**chosen, "sort": sort}),
    }
