"""The use of rate limits: counts by subject, resource and window."""

from collections.abc import Iterable
from typing import NamedTuple

from store.database.connection import Connection, Row

COLUMNS = "subject, resource, window_start, window_end, used"


class StoredCount(NamedTuple):
    """An amount of a resource used in one window. Its bounds are seconds since the epoch."""

    subject: str
    resource: str
    window_start: int
    window_end: int
    used: int


def add(db: Connection, spent: Iterable[StoredCount]) -> list[StoredCount]:
    """Add to the counts. Return the new counts, which include other processes' use.

    A later window replaces an earlier one.
    """
    # The order is the same everywhere, so that no two transactions deadlock.
    rows = db.insert_many(
        "spent",
        COLUMNS,
        sorted(spent),
        then="ON CONFLICT (subject, resource) DO UPDATE SET"
        " used = CASE WHEN spent.window_start = excluded.window_start"
        " THEN spent.used + excluded.used"
        " WHEN spent.window_start < excluded.window_start THEN excluded.used"
        " ELSE spent.used END,"
        " window_end = CASE WHEN spent.window_start < excluded.window_start"
        " THEN excluded.window_end ELSE spent.window_end END,"
        " window_start = CASE WHEN spent.window_start < excluded.window_start"
        " THEN excluded.window_start ELSE spent.window_start END"
        f" RETURNING {COLUMNS}",
    )
    return [StoredCount(*row) for row in rows]


def spent_by(db: Connection, subject: str) -> list[Row]:
    """Return the counts of a subject."""
    return db.all(f"SELECT {COLUMNS} FROM spent WHERE subject = :subject", subject=subject)


def forget(db: Connection, before: int) -> int:
    """Delete the counts of windows that ended before this second. Return how many."""
    return db.execute("DELETE FROM spent WHERE window_end <= :before", before=before)
