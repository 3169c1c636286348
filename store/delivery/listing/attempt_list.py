"""Attempts sorted by a column, and the number of attempts that match a filter.

Sorting examines the newest attempts, as many as a filter without an index does.
"""

from store.database.connection import LAST_ID, Connection
from store.database.list_order import MOST, Matches, SortedPage, SortOrder, counted
from store.delivery import attempt_feed
from store.delivery.attempt_feed import WINDOW
from store.delivery.attempt_filter import AttemptFilter

COLUMNS = {
    "outcome": ("COALESCE(a.status_code, 0)", "COALESCE(a.error, '')"),
    "event": ("e.name", "COALESCE(e.action, '')"),
    "endpoint": ("a.url",),
    "duration": ("a.duration",),
    "time": ("a.id",),
}


def sorted_page(
    db: Connection, wanted: AttemptFilter, order: SortOrder, *, limit: int, skip: int = 0
) -> SortedPage:
    """Return a page of the matching attempts, `skip` of them left out.

    `wanted.before` keeps later attempts out, so that the pages do not move.
    """
    ids, more = attempt_feed.candidates(db, wanted, wanted.before or LAST_ID, WINDOW)
    sql = order.sql(COLUMNS, "a.id DESC")
    rows = attempt_feed.select(db, wanted, ids, limit + 1, order=sql, skip=skip)
    return SortedPage(rows[:limit], len(rows) > limit, len(ids) if more else 0)


def count(db: Connection, wanted: AttemptFilter) -> Matches:
    """Return the number of matching attempts, up to MOST.

    If no index supports the filter, only the newest attempts are examined.
    """
    below = wanted.before or LAST_ID
    if wanted.narrowed:
        ids, more = attempt_feed.candidates(db, wanted, below, WINDOW)
        return Matches(attempt_feed.count_among(db, wanted, ids), examined=len(ids) if more else 0)
    return counted(attempt_feed.count(db, wanted, below, MOST + 1))
