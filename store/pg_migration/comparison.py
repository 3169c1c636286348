"""The comparison of the copy: each row is read again on both sides."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.errors import Conflict
from store.pg_migration.source import SqliteSource
from store.pg_migration.tables import MASK, Table, Values, checksum, differing

if TYPE_CHECKING:
    from store.pg_migration.target import (
        PostgresTarget,  # it imports the driver, which may not be installed
    )

# Tables of up to this many rows are read again while nothing can be written.
SMALL = 20_000
# The limit of rows named in a message.
NAMED = 5

TableProgress = Callable[[str, str, int, int], None]
"""Called with `copying` or `comparing`, the table, the rows done, and the rows in all."""


@dataclass(frozen=True, slots=True)
class TableCheck:
    """The result for a table: its rows, and their checksum unless the table was too large."""

    table: str
    rows: int
    checksum: str | None


class StoreComparison:
    """Compares tables and collects wrong rows. A row may differ if it was recorded as changed."""

    def __init__(
        self, source: SqliteSource, target: "PostgresTarget", on_progress: TableProgress
    ) -> None:
        self._source = source
        self._target = target
        self._on_progress = on_progress
        self._wrong: dict[Table, set[Any]] = {}

    def compare(self, table: Table) -> TableCheck:
        """Compare a table's copied rows on both sides."""
        reached = self._target.reached(table)
        total = 0 if reached is None else self._source.count(table, None, reached)
        after: Any = None
        done = summed = 0
        for rows in self._source.after(table, None, reached) if total else ():
            theirs = self._target.between(table, after, rows[-1][0])
            summed += self._checksum(table, rows, theirs)
            after, done = rows[-1][0], done + len(rows)
            self._on_progress("comparing", table.name, done, max(done, total))
        self._checksum(table, [], self._target.between(table, after, None))
        return TableCheck(table.name, done, _written(summed))

    def count(self, table: Table) -> TableCheck:
        """Count a table on both sides. Compare it if it is small or the counts differ."""
        ours, theirs = self._source.count(table), self._target.count(table)
        if ours == theirs == 0:
            return TableCheck(table.name, 0, _written(0))
        if ours != theirs or ours <= SMALL:
            return self.compare(table)
        return TableCheck(table.name, ours, None)

    def _checksum(self, table: Table, ours: list[Values], theirs: list[Values]) -> int:
        wrong = differing(table, ours, theirs)
        # This is checked after the rows were read, so changes that they show are recorded by now.
        wrong -= self._source.log.recorded(table, list(wrong)) if wrong else set()
        self._wrong.setdefault(table, set()).update(wrong)
        return checksum(ours)

    def raise_differences(self) -> None:
        """Raise Conflict if a row was wrong. Record wrong rows, so that they are copied again."""
        complaints = []
        for table, wrong in self._wrong.items():
            if wrong:
                self._source.note(table, list(wrong))
                complaints.append(_complaint(table, sorted(wrong)))
        if complaints:
            raise Conflict(
                f"rows in the target differ from the database: {'; '.join(complaints)}."
                " Does anything else write there? Run again to copy them again"
            )


def _written(checksum: int) -> str:
    return f"{checksum & MASK:032x}"


def _complaint(table: Table, wrong: list[Any]) -> str:
    more = ", ..." if len(wrong) > NAMED else ""
    named = ", ".join(str(first) for first in wrong[:NAMED])
    return f"{len(wrong)} in {table.name} ({table.columns[0]} {named}{more})"
