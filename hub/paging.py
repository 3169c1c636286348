"""Pages of a list: by number, or by a cursor that stays right while the list grows."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from hub.errors import Malformed
from store import Row

DEFAULT, MOST = 30, 100
COUNTED = 1_000
NUMBER = re.compile(r"[0-9]{1,9}")
CURSOR = re.compile(r"(before|after)_([0-9]{1,18})")


def size_of(query: Mapping[str, str], default: int = DEFAULT, most: int = MOST) -> int:
    """`per_page`, capped at the most; what is no such number is the default."""
    given = query.get("per_page", "")
    size = int(given) if NUMBER.fullmatch(given) else 0
    return min(size, most) or default


class Page:
    """A page by number. The handler tells how many items there are (`page.total = ...`) or, of a
    list that grows without end, lets them be counted as far as it costs little (`page.count`).
    """

    def __init__(self, query: Mapping[str, str], default: int = DEFAULT, most: int = MOST) -> None:
        given = query.get("page", "")
        self.limit = size_of(query, default, most)
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
        """Relation to the query members that differ from the request's."""
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


class Cursor:
    """A page next to an item, newest first, by ids. Malformed for a cursor that is none."""

    def __init__(self, query: Mapping[str, str], default: int = DEFAULT, most: int = MOST) -> None:
        self.limit = size_of(query, default, most)
        self.before: int | None = None
        self.after: int | None = None
        self._links: dict[str, dict[str, Any]] = {}
        given = query.get("cursor")
        if given is not None:
            matched = CURSOR.fullmatch(given)
            if matched is None:
                raise Malformed("Invalid cursor: take it from the Link header of an answer")
            setattr(self, matched[1], int(matched[2]))

    @property
    def wanted(self) -> int:
        """How many to ask the store for: one more than a page tells whether there are more."""
        return self.limit + 1

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

    def links(self) -> dict[str, dict[str, Any]]:
        """Relation to the query members that differ from the request's."""
        return self._links


def link_header(url: str, query: Mapping[str, str], pages: Page | Cursor) -> str | None:
    """The Link header for a page of `url`; the request's other query members are kept."""
    return (
        ", ".join(
            f'<{url}?{urlencode({**query, **changed})}>; rel="{rel}"'
            for rel, changed in pages.links().items()
        )
        or None
    )
