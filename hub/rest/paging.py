"""Pages of a list: by number, or by a cursor that stays valid while the list grows."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypedDict
from urllib.parse import urlencode

from hub.http.errors import Malformed, Rejected
from hub.http.numbers import natural
from hub.rest.cursors import INVALID, SHAPE, Cursors
from store import Row

DEFAULT, MOST = 30, 100
COUNT_LIMIT = 1_000
# The last page that can be requested: the offset of its first item still fits into a column.
FARTHEST = 10**15
CURSOR: dict[str, Any] = {"type": "string", "pattern": f"^{SHAPE.pattern}$"}


class PageBounds(TypedDict):
    limit: int
    offset: int


class Paging:
    """Base class of all kinds of pages.

    `per_page` is at most `most`. If it is not a positive number, the default applies.
    """

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {}
    """Query parameters beside `per_page`: names and schemas."""

    def __init__(
        self,
        query: Mapping[str, str],
        cursors: Cursors,
        default: int = DEFAULT,
        most: int = MOST,
    ) -> None:
        self.limit = min(natural(query.get("per_page", "")) or default, most)
        self._cursors = cursors
        self._links: dict[str, dict[str, Any]] = {}
        self._read(query)

    def _read(self, query: Mapping[str, str]) -> None:
        """Read the parameters of this kind of page."""

    def links(self) -> dict[str, dict[str, Any]]:
        """Return, by link relation, the query parameters that differ from the request's.

        None removes a parameter.
        """
        return self._links


class NumberedPaging(Paging):
    """A page by number.

    The handler sets the number of items (`page.total = ...`). For a list without a known end it
    calls `page.count`, which stops counting where that becomes expensive.
    """

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {
        "page": {"type": "integer", "default": 1, "minimum": 1}
    }

    def _read(self, query: Mapping[str, str]) -> None:
        self.number = min(natural(query.get("page", "")) or 1, FARTHEST)
        self.offset = (self.number - 1) * self.limit
        self.total = 0
        self._endless = False

    @property
    def bounds(self) -> PageBounds:
        """Return the bounds of the page's rows as arguments."""
        return {"limit": self.limit, "offset": self.offset}

    def count(self, counted: Callable[[int], int]) -> None:
        """Set the total with `counted(most)`, a function that stops counting at `most`.

        If the list is longer, there is no link to the last page.
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
    """A page of a list that is never counted. Its links follow from its rows."""

    @property
    def wanted(self) -> int:
        """Return how many rows to request: one more than a page, to learn whether more follow."""
        return self.limit + 1


class CursorPaging(UncountedPaging):
    """A page of a list ordered by descending id, before or after an item.

    Raises Malformed for an invalid cursor.
    """

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {"cursor": CURSOR}

    def _read(self, query: Mapping[str, str]) -> None:
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
        """Cut the store's rows (newest first) to the page, and set its links."""
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
    """A page with a link to the next page only."""

    def cut(self, rows: list[Row]) -> list[Row]:
        """Cut the store's rows to the page, and set its link."""
        shown = rows[: self.limit]
        if len(rows) > self.limit:
            self._links["next"] = self._behind(shown[-1])
        return shown

    def _behind(self, row: Row) -> dict[str, Any]:
        """Return the query parameters of the page that begins after a row."""
        raise NotImplementedError


class SincePaging(ForwardPaging):
    """A page of rows with ids greater than `since`. It links to the next page only."""

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {"since": {"type": "integer"}}

    def _read(self, query: Mapping[str, str]) -> None:
        self.since = natural(query.get("since", "")) or 0

    def _behind(self, row: Row) -> dict[str, Any]:
        return {"since": row["id"]}


class OnwardPaging(ForwardPaging):
    """A page of a list ordered by `name_key` (bytes), beginning after the cursor `after`.

    It links to the next page only. Raises Rejected for an invalid cursor.
    """

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {"after": CURSOR}

    def _read(self, query: Mapping[str, str]) -> None:
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
    """An OnwardPaging that can also end at the cursor `before`. Its pages then link both ways.

    Raises Rejected for an invalid cursor, or if both cursors are given.
    """

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {
        "before": CURSOR,
        **OnwardPaging.PARAMETERS,
    }

    def _read(self, query: Mapping[str, str]) -> None:
        super()._read(query)
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
    """Return the Link header for a page of `url`. The request's other query parameters are kept."""
    found = []
    for rel, changed in pages.links().items():
        members = {name: value for name, value in {**query, **changed}.items() if value is not None}
        found.append(f'<{url}?{urlencode(members)}>; rel="{rel}"')
    return ", ".join(found) or None
