"""Lists in the order of their ids: newest first, or the newest rows in another order."""

from collections.abc import Callable, Mapping
from typing import Any

from hub.ui.lists import paging, views
from hub.ui.lists.sorting import Sorting
from hub.ui.view_context import ViewContext
from store import Row
from store.database.list_order import Matches, SortOrder

# In another order, this many of the newest rows are sorted.
MOST = 1_000
Keys = Mapping[str, Callable[[Row], Any]]
Fetch = Callable[[int, int | None], list[Row]]
Count = Callable[[], Matches]


def ordered(rows: list[Row], keys: Keys, order: SortOrder) -> list[Row]:
    """Return rows in an order. Rows with the same value keep the order that they have."""
    return sorted(rows, key=keys[order.column], reverse=order.descending)


class NewestList:
    """A list with its path, its columns, and the number of rows of a page."""

    def __init__(self, path: str, sorting: Sorting, keys: Keys, size: int) -> None:
        self.path = path
        self.sorting = sorting
        self._keys = keys
        self.size = size

    def page(
        self,
        ctx: ViewContext,
        chosen: dict[str, str],
        fetch: Fetch,
        count: Count,
        end: int | None = None,
    ) -> tuple[list[Row], dict[str, Any]]:
        """Return the rows of the page in the query, and the values that every such list has.

        `fetch(limit, before)` returns the newest rows, up to `limit`, with ids below `before` if
        that is given. `count()` returns the number of all rows. `end` is the id after the newest
        row of all, matching or not, if `before` decides how far `fetch` searches.
        """
        sort = self.sorting.asked(ctx)
        asked = {**chosen, "sort": sort}
        if sort:
            rows, values = self._sorted(ctx, asked, fetch, end)
        else:
            rows, values = self._newest(ctx, asked, fetch)
        return rows, {
            "examined": 0,
            "sort": sort,
            "heads": self.sorting.heads(sort, self.path, chosen),
            "views": views.of_list(ctx, self.path, asked),
            "matches": count() if rows else None,
            **values,
        }

    def _newest(
        self, ctx: ViewContext, asked: dict[str, str], fetch: Fetch
    ) -> tuple[list[Row], dict[str, Any]]:
        before = ctx.asked_number("before")
        rows = fetch(self.size + 1, before)
        last = rows[self.size - 1]["id"] if len(rows) > self.size else None
        return rows[: self.size], {
            "newest": paging.first(self.path, asked) if before else "",
            "older": paging.older(self.path, asked, last),
        }

    def _sorted(
        self, ctx: ViewContext, asked: dict[str, str], fetch: Fetch, end: int | None
    ) -> tuple[list[Row], dict[str, Any]]:
        skip, before = paging.skipped(ctx), ctx.asked_number("before")
        found = fetch(MOST + 1, before)
        # Without this limit, rows that arrive after the first page would move the others.
        upto = before or end or (found[0]["id"] + 1 if found else None)
        rows = ordered(found[:MOST], self._keys, self.sorting.order(asked["sort"]))
        following = asked if upto is None else {**asked, "before": str(upto)}
        more = len(rows) > skip + self.size
        return rows[skip : skip + self.size], {
            "examined": MOST if len(found) > MOST else 0,
            "newest": paging.first(self.path, asked) if skip else "",
            "older": paging.following(self.path, following, skip + self.size, more=more),
        }
