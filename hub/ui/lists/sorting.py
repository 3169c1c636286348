"""Columns that a list can be sorted by, and the links in their heads."""

from dataclasses import dataclass

from hub.ui.lists.paging import first
from hub.ui.view_context import ViewContext
from store.database.list_order import SortOrder


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """The head of a column: the URL that sorts by it, and how the list is sorted by it now."""

    url: str
    direction: str = ""
    """`ascending`, `descending`, or empty if the list is sorted by another column."""


class Sorting:
    """The columns of a list. The value of a column is true if its largest values come first.

    `usual` is the order without a choice, such as `-time`. With a minus, the largest come first.
    """

    def __init__(self, usual: str, **columns: bool) -> None:
        self.usual = usual
        self.columns = columns

    def asked(self, ctx: ViewContext) -> str:
        """Return the order in the query; empty if it is the usual one."""
        text = ctx.asked("sort", 40)
        known = text.removeprefix("-") in self.columns
        return text if known and text != self.usual else ""

    def order(self, asked: str) -> SortOrder:
        """Return the order that is asked for, or the usual one."""
        text = asked or self.usual
        return SortOrder(text.removeprefix("-"), text.startswith("-"))

    def heads(self, asked: str, path: str, chosen: dict[str, str]) -> dict[str, ColumnHead]:
        """Return the heads of the columns. A second click turns an order round."""
        now = self.order(asked)
        return {
            name: self._head(name, path, chosen, now, descending=descending)
            for name, descending in self.columns.items()
        }

    def _head(
        self, name: str, path: str, chosen: dict[str, str], now: SortOrder, *, descending: bool
    ) -> ColumnHead:
        is_sorted = name == now.column
        wanted = ("-" if (not now.descending if is_sorted else descending) else "") + name
        url = first(path, {**chosen, "sort": "" if wanted == self.usual else wanted})
        if not is_sorted:
            return ColumnHead(url)
        return ColumnHead(url, "descending" if now.descending else "ascending")
