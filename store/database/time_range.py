"""A range of time as a condition of a query."""

from dataclasses import dataclass
from typing import Any

from store.database.connection import Connection
from store.database.id_search import first_id_since


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A range from `since` to before `until`, in microseconds. None means no limit."""

    since: int | None = None
    until: int | None = None

    def page(
        self, db: Connection, table: str, column: str, before: int | None, alias: str = "x"
    ) -> tuple[list[str], dict[str, Any]]:
        """Return the conditions of a page of a list, newest first, and their parameters.

        They limit the ids of the table, which the query calls `alias`: the times in `column` rise
        with the ids, so that the query reads no row outside the range. The ids are below `before`.
        """
        time = f"e.{column}"
        first = None if self.since is None else first_id_since(db, table, time, self.since)
        ends = [before]
        ends += [] if self.until is None else [first_id_since(db, table, time, self.until)]
        end = min((one for one in ends if one is not None), default=None)
        limits = {"first": (f"{alias}.id >= :first", first), "end": (f"{alias}.id < :end", end)}
        chosen = {name: limit for name, limit in limits.items() if limit[1] is not None}
        where = [condition for condition, _ in chosen.values()]
        return where, {name: value for name, (_, value) in chosen.items()}

    def overlaps(self, first: int, last: int) -> bool:
        """Return whether something that lasted from `first` to `last` was going on within it."""
        return (self.until is None or first < self.until) and (
            self.since is None or last >= self.since
        )


ALWAYS = TimeRange()
