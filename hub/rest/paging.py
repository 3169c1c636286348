"""Pages of a list: by number, or by a cursor that stays right while the list grows."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from hub.http.errors import Malformed, Rejected
from hub.http.numbers import natural
from hub.rest.cursors import INVALID, SHAPE, Cursors
from store import Row

DEFAULT, MOST = 30, 100
COUNT_LIMIT = 1_000
# The last page that can be asked for: its first item's place still fits into a column.
FARTHEST = 10**15
CURSOR: dict[str, Any] = {"type": "string", "pattern": f"^{SHAPE.pattern}$"}


class Paging:
    """What the kinds of pages have in common. `per_page` is capped at `most`; what is no number
    above zero is the default.
    """

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {}
    """Of the query, beside `per_page`: names and schemas."""

    def __init__(
        self,
        query: Mapping[str, str],
        cursors: Cursors,
        default: int = DEFAULT,
        most: int = MOST,
    ) -> None:
        self.limit = min(natural(query.get("per_page", "")) or default, most)
        self._cursors = cursors

    def links(self) -> dict[str, dict[str, Any]]:
        """Relation to the query members that differ from the request's; None is one that is not
        there.
        """
        raise NotImplementedError


class NumberedPaging(Paging):
    """A page by number. The handler tells how many items there are (`page.total = ...`) or, of a
    list that grows without end, lets them be counted as far as it costs little (`page.count`).
    """

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {
        "page": {"type": "integer", "default": 1, "minimum": 1}
    }

    def __init__(
        self,
        query: Mapping[str, str],
        cursors: Cursors,
        default: int = DEFAULT,
        most: int = MOST,
    ) -> None:
        super().__init__(query, cursors, default, most)
        self.number = min(natural(query.get("page", "")) or 1, FARTHEST)
        self.offset = (self.number - 1) * self.limit
        self.total = 0
        self._endless = False

    def count(self, counted: Callable[[int], int]) -> None:
        """Let `counted(most)` tell how many items there are, and stop at the most. Of a list with
        more, the last page is not told.
        """
        most = max(COUNT_LIMIT, self.offset + self.limit) + 1
        self.total = counted(most)
        self._endless = self.total >= most

    def links(self) -> dict[str, dict[str, Any]]:
        last = max(1, -(-self.total // self.limit))
        found = {}
        if self.number > 1:
            found["prev"] = min(self.number - 1, last)
        if self.number < last:
            found["next"] = self.number + 1
            if not self._endless:
                found["last"] = last
        if self.number > 1:
            found["first"] = 1
        return {rel: {"page": number} for rel, number in found.items()}


class UncountedPaging(Paging):
    """A page of a list whose length nobody needs to know: its links come of its rows."""

    def __init__(
        self,
        query: Mapping[str, str],
        cursors: Cursors,
        default: int = DEFAULT,
        most: int = MOST,
    ) -> None:
        super().__init__(query, cursors, default, most)
        self._links: dict[str, dict[str, Any]] = {}

    @property
    def wanted(self) -> int:
        """How many to ask the store for: one more than a page tells whether there are more."""
        return self.limit + 1

    def links(self) -> dict[str, dict[str, Any]]:
        return self._links


class CursorPaging(UncountedPaging):
    """A page next to an item, newest first, by ids. Malformed for a cursor that is none."""

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {"cursor": CURSOR}

    def __init__(
        self,
        query: Mapping[str, str],
        cursors: Cursors,
        default: int = DEFAULT,
        most: int = MOST,
    ) -> None:
        super().__init__(query, cursors, default, most)
        self.before: int | None = None
        self.after: int | None = None
        given = query.get("cursor")
        if given is not None:
            place = self._cursors.place(given)
            if place is None:
                raise Malformed(INVALID)
            side, _, row_id = place.decode().partition("_")
            setattr(self, side, int(row_id))

    def cut(self, rows: list[Row]) -> list[Row]:
        """The page out of the rows (newest first) that the store gave for it."""
        more = len(rows) > self.limit
        if self.after is not None:
            shown, newer, older = rows[-self.limit :], more, True
        else:
            shown, newer, older = rows[: self.limit], self.before is not None, more
        if shown and newer:
            self._links["prev"] = {"cursor": self._cursor("after", shown[0])}
        if shown and older:
            self._links["next"] = {"cursor": self._cursor("before", shown[-1])}
        return shown

    def _cursor(self, side: str, row: Row) -> str:
        return self._cursors.cursor(f"{side}_{row['id']}".encode())


class ForwardPaging(UncountedPaging):
    """A page that leads forward only."""

    def cut(self, rows: list[Row]) -> list[Row]:
        """The page out of the rows that the store gave for it."""
        shown = rows[: self.limit]
        if len(rows) > self.limit:
            self._links["next"] = self._behind(shown[-1])
        return shown

    def _behind(self, row: Row) -> dict[str, Any]:
        """The parameters of the page that begins behind a row."""
        raise NotImplementedError


class SincePaging(ForwardPaging):
    """A page of rows by id, from those with a greater id than `since` on; it leads forward only."""

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {"since": {"type": "integer"}}

    def __init__(
        self,
        query: Mapping[str, str],
        cursors: Cursors,
        default: int = DEFAULT,
        most: int = MOST,
    ) -> None:
        super().__init__(query, cursors, default, most)
        self.since = natural(query.get("since", "")) or 0

    def _behind(self, row: Row) -> dict[str, Any]:
        return {"since": row["id"]}


class OnwardPaging(ForwardPaging):
    """A page of a list in the order of its rows' `name_key` (bytes), from a place behind one of
    them on (`after`); it leads forward only. Rejected for a cursor that is none.
    """

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {"after": CURSOR}

    def __init__(
        self,
        query: Mapping[str, str],
        cursors: Cursors,
        default: int = DEFAULT,
        most: int = MOST,
    ) -> None:
        super().__init__(query, cursors, default, most)
        self.after = self._place(query.get("after"))

    def _behind(self, row: Row) -> dict[str, Any]:
        return {"after": self._cursor(row)}

    def _cursor(self, row: Row) -> str:
        return self._cursors.cursor(row["name_key"])

    def _place(self, given: str | None) -> bytes | None:
        place = None if given is None else self._cursors.place(given)
        if given is not None and place is None:
            raise Rejected(f"Invalid request.\n\n{INVALID}.")
        return place


class AroundPaging(OnwardPaging):
    """The same, or the page that ends at that place (`before`), which leads both ways."""

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {
        "before": CURSOR,
        **OnwardPaging.PARAMETERS,
    }

    def __init__(
        self,
        query: Mapping[str, str],
        cursors: Cursors,
        default: int = DEFAULT,
        most: int = MOST,
    ) -> None:
        super().__init__(query, cursors, default, most)
        self.before = self._place(query.get("before"))
        if self.before is not None and self.after is not None:
            raise Rejected("Invalid request.\n\nOnly one of before and after can be given.")

    def cut(self, rows: list[Row]) -> list[Row]:
        if self.before is None:
            return super().cut(rows)
        shown = rows[-self.limit :]
        if len(rows) > self.limit:
            self._links["prev"] = {"before": self._cursor(rows[-self.limit - 1])}
        if shown:
            self._links["next"] = {"before": None, "after": self._cursor(shown[-1])}
        return shown


def link_header(url: str, query: Mapping[str, str], pages: Paging) -> str | None:
    """The Link header for a page of `url`; the request's other query members are kept."""
    found = []
    for rel, changed in pages.links().items():
        members = {name: value for name, value in {**query, **changed}.items() if value is not None}
        found.append(f'<{url}?{urlencode(members)}>; rel="{rel}"')
    return ", ".join(found) or None
