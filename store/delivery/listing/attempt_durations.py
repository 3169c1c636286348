"""The longest of some attempts, which estimates of their durations must not exceed."""

from collections.abc import Iterable

from store.database.connection import Connection, json_array
from store.database.time_range import TimeRange
from store.delivery import attempt_feed

# Among more attempts than this, the longest one is not looked for.
MOST = 2_000


def longest(db: Connection, hook_ids: Iterable[int], since: int, many: int) -> int | None:
    """Return the longest duration of the hooks' attempts since a time. Both are in microseconds.

    Return None if fewer than `many` are still stored. Some attempts before the time may count too.
    """
    found, duration = db.tuples(
        "SELECT count(*), max(f.duration) FROM (SELECT a.duration FROM"
        f" {db.each('hooks', hook_id='integer')} AS w JOIN attempt a ON a.hook_id = w.hook_id"
        " WHERE a.id >= :first LIMIT :most) AS f",
        hooks=json_array(hook_ids),
        first=attempt_feed.id_range(db, TimeRange(since))[0],
        most=MOST + 1,
    )[0]
    return duration if many <= found <= MOST else None
