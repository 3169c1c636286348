"""Pages of a list: by number, or by a cursor that stays right while the list grows."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from hub.errors import Malformed, Rejected
from store import Row

DEFAULT, MOST = 30, 100
COUNTED = 1_000
NUMBER = re.compile(r"[0-9]{1,9}")
ID = re.compile(r"[0-9]{1,18}")
CURSOR = re.compile(r"(before|after)_([0-9]{1,18})")


def size_of(query: Mapping[str, str], default: int = DEFAULT, most: int = MOST) -> int:
    """`per_page`, capped at the most; what is no such number is the default."""
    given = query.get("per_page", "")
    size = int(given) if NUMBER.fullmatch(given) else 0
    return min(size, most) or default


class Pages:
    """What the kinds of pages have in common."""

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {}
    """Of the query, beside `per_page`: names and schemas."""

    def __init__(self, query: Mapping[str, str], default: int = DEFAULT, most: int = MOST) -> None:
        self.limit = size_of(query, default, most)

    def links(self) -> dict[str, dict[str, Any]]:
        """Relation to the query members that differ from the request's; None is one that is not
        there.
        """
        raise NotImplementedError


class Page(Pages):
    """A page by number. The handler tells how many items there are (`page.total = ...`) or, of a
    list that grows without end, lets them be counted as far as it costs little (`page.count`).
    """

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {
        "page": {"type": "integer", "default": 1, "minimum": 1}
    }

    def __init__(self, query: Mapping[str, str], default: int = DEFAULT, most: int = MOST) -> None:
        super().__init__(query, default, most)
        given = query.get("page", "")
        self.number = int(given) if NUMBER.fullmatch(given) and int(given) else 1
        self.offset = (self.number - 1) * self.limit
        self.total = 0
        self._endless = False

    def count(self, counted: Callable[[int], int]) -> None:
        """Let `counted(most)` tell how many items there are, and stop at the most. Of a list with
        more, the last page is not told.
        """
        most = max(COUNTED, self.offset + self.limit) + 1
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


class Uncounted(Pages):
    """A page of a list whose length nobody needs to know: its links come of its rows."""

    def __init__(self, query: Mapping[str, str], default: int = DEFAULT, most: int = MOST) -> None:
        super().__init__(query, default, most)
        self._links: dict[str, dict[str, Any]] = {}

    @property
    def wanted(self) -> int:
        """How many to ask the store for: one more than a page tells whether there are more."""
        return self.limit + 1

    def links(self) -> dict[str, dict[str, Any]]:
        return self._links


class Cursor(Uncounted):
    """A page next to an item, newest first, by ids. Malformed for a cursor that is none."""

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {
        "cursor": {"type": "string", "pattern": f"^{CURSOR.pattern}$"}
    }

    def __init__(self, query: Mapping[str, str], default: int = DEFAULT, most: int = MOST) -> None:
        super().__init__(query, default, most)
        self.before: int | None = None
        self.after: int | None = None
        given = query.get("cursor")
        if given is not None:
            matched = CURSOR.fullmatch(given)
            if matched is None:
                raise Malformed("Invalid cursor: take it from the Link header of an answer")
            setattr(self, matched[1], int(matched[2]))

    def cut(self, rows: list[Row]) -> list[Row]:
        """The page out of the rows (newest first) that the store gave for it."""
        more = len(rows) > self.limit
        if self.after is not None:
            shown, newer, older = rows[-self.limit :], more, True
        else:
            shown, newer, older = rows[: self.limit], self.before is not None, more
        if shown and newer:
            self._links["prev"] = {"cursor": f"after_{shown[0]['id']}"}
        if shown and older:
            self._links["next"] = {"cursor": f"before_{shown[-1]['id']}"}
        return shown


class Forward(Uncounted):
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


class Since(Forward):
    """A page of rows by id, from those with a greater id than `since` on; it leads forward only."""

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {"since": {"type": "integer"}}

    def __init__(self, query: Mapping[str, str], default: int = DEFAULT, most: int = MOST) -> None:
        super().__init__(query, default, most)
        given = query.get("since", "")
        self.since = int(given) if ID.fullmatch(given) else 0

    def _behind(self, row: Row) -> dict[str, Any]:
        return {"since": row["id"]}


class Onward(Forward):
    """A page of a list in the order of its rows' `name_key` (bytes), from a place behind one of
    them on (`after`); it leads forward only. Rejected for a cursor that is none.
    """

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {"after": {"type": "string"}}

    def __init__(self, query: Mapping[str, str], default: int = DEFAULT, most: int = MOST) -> None:
        super().__init__(query, default, most)
        self.after = _place(query.get("after"))

    def _behind(self, row: Row) -> dict[str, Any]:
        return {"after": _cursor(row)}


class Around(Onward):
    """The same, or the page that ends at that place (`before`), which leads both ways."""

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {
        "before": {"type": "string"},
        **Onward.PARAMETERS,
    }

    def __init__(self, query: Mapping[str, str], default: int = DEFAULT, most: int = MOST) -> None:
        super().__init__(query, default, most)
        self.before = _place(query.get("before"))
        if self.before is not None and self.after is not None:
            raise Rejected("Invalid request.\n\nOnly one of before and after can be given.")

    def cut(self, rows: list[Row]) -> list[Row]:
        if self.before is None:
            return super().cut(rows)
        shown = rows[-self.limit :]
        if len(rows) > self.limit:
            self._links["prev"] = {"before": _cursor(rows[-self.limit - 1])}
        if shown:
            self._links["next"] = {"before": None, "after": _cursor(shown[-1])}
        return shown


def _cursor(row: Row) -> str:
    return base64.urlsafe_b64encode(row["name_key"]).decode().rstrip("=")


def _place(given: str | None) -> bytes | None:
    if given is None:
        return None
    try:
        return base64.b64decode(given + "=" * (-len(given) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise Rejected(
            "Invalid request.\n\nInvalid cursor: take it from the Link header of an answer."
        ) from None


def link_header(url: str, query: Mapping[str, str], pages: Pages) -> str | None:
    """The Link header for a page of `url`; the request's other query members are kept."""
    found = []
    for rel, changed in pages.links().items():
        members = {name: value for name, value in {**query, **changed}.items() if value is not None}
        found.append(f'<{url}?{urlencode(members)}>; rel="{rel}"')
    return ", ".join(found) or None
