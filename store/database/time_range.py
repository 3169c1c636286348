"""A range of time as a condition of a query."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A range from `since` to before `until`, in microseconds. None means no limit."""

    since: int | None = None
    until: int | None = None

    def page(
        self, moment: str, number: str, before: int | None
    ) -> tuple[list[str], dict[str, Any]]:
        """Return the conditions of a page of a list, newest first, and their parameters.

        `moment` is the column that lies in the range. The column `number` is below `before`.
        """
        limits = {
            "since": (f"{moment} >= :since", self.since),
            "until": (f"{moment} < :until", self.until),
            "before": (f"{number} < :before", before),
        }
        chosen = {name: limit for name, limit in limits.items() if limit[1] is not None}
        where = [condition for condition, _ in chosen.values()]
        return where, {name: value for name, (_, value) in chosen.items()}

    def overlaps(self, first: int, last: int) -> bool:
        """Return whether something that lasted from `first` to `last` was going on within it."""
        return (self.until is None or first < self.until) and (
            self.since is None or last >= self.since
        )


ALWAYS = TimeRange()
