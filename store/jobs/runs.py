"""Long runs that a worker does in steps.

A run's progress is stored in the transaction of each step, so that it continues after any
interruption. Its `moves` count the steps, so that no two workers do the same one.
"""

from dataclasses import dataclass
from typing import Any

from store.database.connection import Connection, Row
from store.errors import StoreError

FAILED = "failed"


class StaleRun(StoreError):
    """Another worker has done this step, or the run has ended meanwhile."""


@dataclass(frozen=True, slots=True)
class RunTable:
    """The runs in a table with `id`, `moves` and `outcome`.

    The table also has the times `created_at`, `started_at`, `moved_at` and `ended_at`.
    """

    table: str
    columns: str
    turns: str
    """The ORDER BY of open runs. The first one is next."""
    noun: str
    """The name of a run in messages."""
    cancelled_outcome: str
    """The outcome of a cancelled run."""

    def current(self, db: Connection) -> Row | None:
        """Return the run to continue, or None if none is open."""
        return db.one(
            f"SELECT {self.columns} FROM {self.table} WHERE ended_at IS NULL"
            f" ORDER BY {self.turns} LIMIT 1"
        )

    def next_due(self, db: Connection) -> int | None:
        """Return since when the next run has been waiting, or None."""
        row = self.current(db)
        return None if row is None else int(row["created_at"])

    def move(self, db: Connection, run: Row, **changed: Any) -> Row:
        """Advance a run by one step and set columns. Return its new row.

        Raises StaleRun if another worker has advanced it, or if it has ended.
        """
        changes = "".join(f", {name} = :{name}" for name in changed)
        row = db.one(
            f"UPDATE {self.table} SET moves = moves + 1, moved_at = :now,"
            f" started_at = coalesce(started_at, :now){changes}"
            f" WHERE id = :id AND moves = :moves AND ended_at IS NULL RETURNING {self.columns}",
            id=run["id"],
            moves=run["moves"],
            **changed,
        )
        if row is None:
            where = f"was continued by another worker, or was {self.cancelled_outcome}"
            raise StaleRun(f"{self.noun} {run['id']} {where}")
        return row

    def cut(self, db: Connection, run_id: int) -> bool:
        """Cancel a run, and with it any step under way. Return False if no such run is open."""
        return self._end(db, run_id, self.cancelled_outcome)

    def fail(self, db: Connection, run_id: int) -> bool:
        """End a run that cannot be continued. Return False if no such run is open."""
        return self._end(db, run_id, FAILED)

    def _end(self, db: Connection, run_id: int, outcome: str) -> bool:
        changed = db.execute(
            f"UPDATE {self.table} SET ended_at = :now, outcome = :outcome, moves = moves + 1"
            " WHERE id = :id AND ended_at IS NULL",
            outcome=outcome,
            id=run_id,
        )
        return changed > 0

    def forget(self, db: Connection, before: int) -> int:
        """Delete the runs that ended before a time. Return how many."""
        return db.execute(f"DELETE FROM {self.table} WHERE ended_at < :before", before=before)
