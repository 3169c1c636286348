"""Days with usage of an enterprise, and whether reports have their latest usage."""

from collections.abc import Collection
from datetime import date, timedelta

from store.clock import DAY
from store.database.connection import Connection, Row, json_array

COLUMNS = "id, enterprise_id, day, version, made_version"
EPOCH = date(1970, 1, 1)
BEGAN = (date(2025, 10, 10) - EPOCH).days
"""The first day with reports. Source: the specification, 24."""
HISTORY = 365
"""For how many days in the past reports are shown."""
WINDOW = 28
"""The number of days that the longer reports cover."""


def number(day: date) -> int:
    """Return the number of a day: days since 1970-01-01."""
    return (day - EPOCH).days


def of_moment(moment: int) -> int:
    """Return the day in UTC of a time in microseconds."""
    return moment // DAY


def iso(day: int) -> str:
    """Format a day: `2026-11-20`."""
    return (EPOCH + timedelta(days=day)).isoformat()


def ends(day: int) -> int:
    """Return the last microsecond of a day."""
    return (day + 1) * DAY - 1


def is_reported(day: int, now: int) -> bool:
    """Return whether reports of a day may be shown at this time."""
    today = of_moment(now)
    return BEGAN <= day <= today and day >= today - HISTORY


def put(db: Connection, days: Collection[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return enterprise and day to the id of each of these days. Create missing ones."""
    db.insert_many(
        "usage_day",
        "enterprise_id, day, version, made_version",
        [(*each, 0, 0) for each in sorted(days)],
        "ON CONFLICT (enterprise_id, day) DO NOTHING",
    )
    rows = db.tuples(
        "SELECT d.enterprise_id, d.day, d.id"
        f" FROM {db.each('days', enterprise_id='integer', day='integer')} AS w JOIN usage_day d"
        " ON d.enterprise_id = w.enterprise_id AND d.day = w.day",
        days=json_array(days),
    )
    return {(enterprise_id, day): day_id for enterprise_id, day, day_id in rows}


def changed(db: Connection, day_ids: Collection[int]) -> None:
    """Record that these days have new usage."""
    db.execute(
        f"UPDATE usage_day SET version = version + 1 WHERE id {db.among('ids')}",
        ids=json_array(sorted(day_ids)),
    )


def unmade(db: Connection) -> list[Row]:
    """Return the days that have ended and have new usage, earliest first."""
    return db.all(
        f"SELECT {COLUMNS} FROM usage_day WHERE made_version < version AND day < :today"
        " ORDER BY day, enterprise_id",
        today=of_moment(db.now),
    )


def get(db: Connection, day_id: int) -> Row | None:
    """Return the day with this id, or None."""
    return db.one(f"SELECT {COLUMNS} FROM usage_day WHERE id = :id", id=day_id)


def made(db: Connection, day_id: int, version: int) -> None:
    """Record that there are reports of a day in this version."""
    db.update("usage_day", day_id, made_version=version)


def windows(db: Connection) -> list[Row]:
    """Return the last reported WINDOW of each enterprise: `enterprise_id`, `last_day`, `version`.

    The version changes whenever one of its days does.
    """
    return db.all(
        "SELECT l.enterprise_id, l.last_day, CAST(sum(d.made_version) AS BIGINT) AS version"
        " FROM (SELECT enterprise_id, max(day) AS last_day FROM usage_day WHERE made_version > 0"
        " GROUP BY enterprise_id) AS l JOIN usage_day d ON d.enterprise_id = l.enterprise_id"
        " WHERE d.day > l.last_day - :window AND d.day <= l.last_day"
        " GROUP BY l.enterprise_id, l.last_day ORDER BY l.enterprise_id",
        window=WINDOW,
    )


def within(db: Connection, enterprise_id: int, first: int, last: int) -> list[int]:
    """Return the ids of an enterprise's days from one to another."""
    return db.column(
        "SELECT id FROM usage_day WHERE enterprise_id = :enterprise_id"
        " AND day >= :first AND day <= :last ORDER BY day",
        enterprise_id=enterprise_id,
        first=first,
        last=last,
    )


def of_iso(text: str) -> int:
    """Parse a day such as `2026-11-20`. Raises ValueError if it is malformed."""
    day = date.fromisoformat(text)
    # It reads other forms, too, such as weeks.
    if str(day) != text:
        raise ValueError(f"{text!r} is not a day: use YYYY-MM-DD")
    return number(day)
