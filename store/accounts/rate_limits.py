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

    A later window replaces an earlier one. A window that is too far ahead, or has another length
    than the given one, is replaced too.
    """
    # The order is the same everywhere, so that no two transactions deadlock.
    given, now = sorted(spent), db.now // SECOND
    counts = _add(db, given)
    # The setting of a length has changed. If a short window stayed because it began later, the
    # count would begin at 0 after each save, until the long window ends.
    lengths = {one[:2]: one.window_end - one.window_start for one in given}
    wrong = {
        one[:2]
        for one in counts
        if is_ahead(one.window_start, one.window_end, now)
        or one.window_end - one.window_start != lengths[one[:2]]
    }
    if wrong:
        _delete(db, wrong)
        counts = [one for one in counts if one[:2] not in wrong]
        counts += _add(db, [one for one in given if one[:2] in wrong])
    return counts


def _delete(db: Connection, wrong: Iterable[tuple[str, str]]) -> None:
    """Delete these counts, which this transaction has locked. Others could be a deadlock."""
    db.execute(
        "DELETE FROM spent WHERE (subject, resource) IN (SELECT subject, resource FROM"
        f" {db.each('wrong', subject='text', resource='text')} AS w)",
        wrong=json_array(wrong),
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
