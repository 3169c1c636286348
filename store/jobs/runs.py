"""Runs that a worker carries on a step at a time, whoever asked for them. How far one has come
moves in the transaction of what its step does, so that it is gone on with after whatever has ended
it; and its `moves` are counted, so that two workers cannot do the same step.
"""

from dataclasses import dataclass
from typing import Any

from store.database.connection import Connection, Row
from store.errors import StoreError


class StaleRun(StoreError):
    """Another worker has done this step, or the run was ended meanwhile."""


@dataclass(frozen=True, slots=True)
class RunTable:
    """The runs of a table with `id`, `moves` and `outcome`, and the moments `created_at`,
    `started_at`, `moved_at` and `ended_at`.
    """

    table: str
    columns: str
    turns: str
    """In which order open ones are gone on with."""
    noun: str
    """What messages call one."""
    cancelled_outcome: str
    """The outcome of one that somebody ends before it is through."""

    def current(self, db: Connection) -> Row | None:
        """The run that is to be gone on with; None where none is open."""
        return db.one(
            f"SELECT {self.columns} FROM {self.table} WHERE ended_at IS NULL"
            f" ORDER BY {self.turns} LIMIT 1"
        )

    def next_due(self, db: Connection) -> int | None:
        """Since when a run waits, to be begun or gone on with; None where none does."""
        row = self.current(db)
        return None if row is None else int(row["created_at"])

    def move(self, db: Connection, run: Row, **changed: Any) -> Row:
        """The run, one move further, with these values. Overtaken where it is no longer where it
        was.
        """
        changes = "".join(f", {name} = :{name}" for name in changed)
        row = db.one(
            f"UPDATE {self.table} SET moves = moves + 1, moved_at = :now,"
            f" started_at = coalesce(started_at, :now){changes}"
            f" WHERE id = :id AND moves = :moves AND ended_at IS NULL RETURNING {self.columns}",
            id=run["id"],
            moves=run["moves"],
            now=db.now,
            **changed,
        )
        if row is None:
            where = f"has been gone on with elsewhere, or {self.cancelled_outcome}"
            raise StaleRun(f"{self.noun} {run['id']} {where}")
        return row

    def cut(self, db: Connection, run_id: int) -> bool:
        """End a run before it is through, and with it whatever step is under way. False where it
        is over, or was never.
        """
        changed = db.execute(
            f"UPDATE {self.table} SET ended_at = :now, outcome = :outcome, moves = moves + 1"
            " WHERE id = :id AND ended_at IS NULL",
            now=db.now,
            outcome=self.cancelled_outcome,
            id=run_id,
        )
        return changed > 0

    def forget(self, db: Connection, before: int) -> int:
        """Drop the runs that ended before this; returns how many those were."""
        return db.execute(f"DELETE FROM {self.table} WHERE ended_at < :before", before=before)
