"""The order of a sorted list, and the number of matches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from store.database import paging
from store.database.connection import Connection, Row

# Matches are counted up to this number.
MOST = 10_000


@dataclass(frozen=True, slots=True)
class Matches:
    """The number of matches.

    With `more`, there are more than that. If only the newest entries were examined, `examined` is
    how many these are.
    """

    many: int
    more: bool = False
    examined: int = 0


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The column by which a list is sorted, and whether the largest values come first."""

    column: str
    descending: bool = False

    def sql(self, columns: Mapping[str, Sequence[str]], last: str) -> str:
        """Return the order in SQL. `columns` has the expressions of each column.

        Entries with the same values are in the order `last`.
        """
        direction = "DESC" if self.descending else "ASC"
        return ", ".join([*(f"{one} {direction}" for one in columns[self.column]), last])


@dataclass(slots=True)
class SortedPage:
    """A page of a sorted list. `more` tells whether more entries follow.

    If only the newest entries were sorted, `examined` is how many these are.
    """

    rows: list[Row] = field(default_factory=list)
    more: bool = False
    examined: int = 0


def counted(many: int) -> Matches:
    """Return the matches of a count that ended one above MOST."""
    return Matches(min(many, MOST), more=many > MOST)


def matches_of(db: Connection, query: str, **parameters: Any) -> Matches:
    """Count the rows of a query, up to MOST."""
    return counted(paging.count(db, query, MOST + 1, **parameters))
