"""Time in whole microseconds since the epoch (UTC), from one clock that tests can move.

Integers are exact, compare and add alike in SQL on every engine, and need eight bytes where a text
needs 27. The API formats them.
"""

import time
from calendar import monthrange
from datetime import UTC, datetime, timedelta
from functools import lru_cache

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
# A time that is later than all others.
LATEST = 2**63 - 1
# A transaction that waited for a lock sees rows that are later than its own time. On PostgreSQL,
# each process measures the database's time by itself. So a row may be ahead by so much. A row that
# is even later is from before the clock was put back.
SKEW = MINUTE


class Clock:
    """The system's clock."""

    def now(self) -> int:
        """Return the microseconds since the epoch."""
        return time.time_ns() // 1000


class MovableClock(Clock):
    """A clock that stands still until it is moved."""

    def __init__(self, start: int | None = None) -> None:
        self._now = start if start is not None else time.time_ns() // 1000

    def now(self) -> int:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock by `seconds`, which may be negative."""
        self._now += round(seconds * SECOND)


def earliest(*moments: int | None) -> int | None:
    """Return the earliest of these times, without those that are None. Return None without any."""
    return min((moment for moment in moments if moment is not None), default=None)


def iso(moment: int) -> str:
    """Format a time for the API, in whole seconds: `2026-11-21T07:33:00Z`."""
    return _iso(moment // SECOND)


# A response has several times, and often some of them are equal.
@lru_cache(maxsize=4096)
def _iso(second: int) -> str:
    # This is twice as fast as strftime.
    return f"{datetime.fromtimestamp(second, UTC).isoformat()[:19]}Z"


def compact(moment: int) -> str:
    """Format a time for a file name: `20261121T073300Z`."""
    return iso(moment).translate(str.maketrans("", "", "-:"))


def spaced(moment: int) -> str:
    """Format a time for a header, in whole seconds: `2026-11-21 07:33:00 UTC`."""
    return iso(moment).replace("T", " ").replace("Z", " UTC")


def iso_micro(moment: int) -> str:
    """Format a time with microseconds, for records: `2026-11-21T07:33:00.123456Z`."""
    whole = datetime.fromtimestamp(moment // SECOND, UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{moment % SECOND:06d}Z"


def parse(text: str) -> int:
    """Parse an ISO 8601 time; without an offset it is UTC. Raises ValueError if it is malformed."""
    return from_datetime(datetime.fromisoformat(text))


def from_datetime(moment: datetime) -> int:
    """Return a time in microseconds; without an offset it is UTC.

    Raises ValueError if its year in UTC has not four digits, because it could not be formatted.
    """
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    if not FIRST <= moment <= LAST:
        raise ValueError(f"the year of {moment.isoformat()} is not 1 to 9999 in UTC")
    # Integer division keeps microseconds, which a float of seconds loses from the year 2108 on.
    return (moment - EPOCH) // timedelta(microseconds=1)


def months_later(moment: int, months: int) -> int:
    """Return the same day and time of day `months` later.

    If that month is too short, return its last day.
    """
    whole = datetime.fromtimestamp(moment // SECOND, UTC)
    year, month = divmod(whole.year * 12 + whole.month - 1 + months, 12)
    day = min(whole.day, monthrange(year, month + 1)[1])
    moved = whole.replace(year=year, month=month + 1, day=day)
    return (moved - EPOCH) // timedelta(microseconds=1) + moment % SECOND
