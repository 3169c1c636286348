"""The use of rate limits: counts by subject, resource and window."""

from collections.abc import Iterable
from typing import NamedTuple

from store.clock import SECOND
from store.database.connection import Connection, Row, json_array

COLUMNS = "subject, resource, window_start, window_end, used"
# A window that begins later than the next one was written by a clock that was fast. If it counted,
# a caller who used it up would have to wait until then.
AHEAD = "window_start > :now + (window_end - window_start)"


class StoredCount(NamedTuple):
    """An amount of a resource used in one window. Its bounds are seconds since the epoch."""

    subject: str
    resource: str
    window_start: int
    window_end: int
    used: int


def add(db: Connection, spent: Iterable[StoredCount]) -> list[StoredCount]:
    """Add to the counts. Return the new counts, which include other processes' use.

    A later window replaces an earlier one, unless the later one is too far ahead.
    """
    # The order is the same everywhere, so that no two transactions deadlock.
    given, now = sorted(spent), db.now // SECOND
    counts = _add(db, given)
    ahead = {one[:2] for one in counts if is_ahead(one.window_start, one.window_end, now)}
    if ahead:
        _delete(db, ahead)
        counts = [one for one in counts if one[:2] not in ahead]
        counts += _add(db, [one for one in given if one[:2] in ahead])
    return counts


def _delete(db: Connection, ahead: Iterable[tuple[str, str]]) -> None:
    """Delete these counts, which this transaction has locked. Others could be a deadlock."""
    db.execute(
        "DELETE FROM spent WHERE (subject, resource) IN (SELECT subject, resource FROM"
        f" {db.each('ahead', subject='text', resource='text')} AS w)",
        ahead=json_array(ahead),
    )


def _add(db: Connection, spent: list[StoredCount]) -> list[StoredCount]:
    rows = db.insert_many(
        "spent",
        COLUMNS,
        spent,
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
    return db.all(
        f"SELECT {COLUMNS} FROM spent WHERE subject = :subject AND NOT {AHEAD}",
        subject=subject,
        now=db.now // SECOND,
    )


def is_ahead(start: int, end: int, now: int) -> bool:
    """Return whether a window is too far ahead of the second `now`. AHEAD is this in SQL."""
    return start > now + (end - start)


def forget(db: Connection, now: int) -> int:
    """Delete the counts of windows that ended before this second, and those too far ahead. Return
    how many.
    """
    return db.execute(f"DELETE FROM spent WHERE window_end <= :now OR {AHEAD}", now=now)
