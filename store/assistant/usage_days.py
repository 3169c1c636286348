"""Days of usage: which there are of an enterprise, and which its reports have not seen yet."""

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta

from store.clock import DAY
from store.database.connection import Connection, Row, json_array

COLUMNS = "id, enterprise_id, day, version, made_version"
EPOCH = date(1970, 1, 1)
BEGAN = (date(2025, 10, 10) - EPOCH).days
"""The first day that there are reports of. Source: the specification, 24."""
HISTORY = 365
"""How many days back they are shown."""
WINDOW = 28
"""Days of the longer reports."""


def number(day: date) -> int:
    """The day as the store has it: days since 1970-01-01."""
    return (day - EPOCH).days


def of_moment(moment: int) -> int:
    """The day, in UTC, of a time in microseconds."""
    return moment // DAY


def iso(day: int) -> str:
    """`2026-11-20`."""
    return (EPOCH + timedelta(days=day)).isoformat()


def ends(day: int) -> int:
    """The last moment of a day, in microseconds."""
    return (day + 1) * DAY - 1


def shown(day: int, now: int) -> bool:
    """Whether reports of a day are shown at this time, if there are any."""
    today = of_moment(now)
    return BEGAN <= day <= today and day >= today - HISTORY


def put(db: Connection, days: Collection[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Enterprise and day to the id of each of these, made where it was not there."""
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
    """Note that there is something new of these days."""
    db.execute(
        "UPDATE usage_day SET version = version + 1"
        f" WHERE id IN (SELECT w.id FROM {db.each('ids', id='integer')} AS w)",
        ids=json_array(sorted(day_ids)),
    )


def unmade(db: Connection) -> list[Row]:
    """The days that are over and have something new, the first one first."""
    return db.all(
        f"SELECT {COLUMNS} FROM usage_day WHERE made_version < version AND day < :today"
        " ORDER BY day, enterprise_id",
        today=of_moment(db.now),
    )


def get(db: Connection, day_id: int) -> Row | None:
    """The day with this id."""
    return db.one(f"SELECT {COLUMNS} FROM usage_day WHERE id = :id", id=day_id)


def made(db: Connection, day_id: int, version: int) -> None:
    """Note that there are reports of a day as it was in this version."""
    db.execute(
        "UPDATE usage_day SET made_version = :version WHERE id = :id", id=day_id, version=version
    )


def windows(db: Connection) -> list[Row]:
    """The last WINDOW days that were reported of each enterprise: `enterprise_id`, `last_day` and
    `version`, which changes with each of these days.
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
    """The ids of an enterprise's days from one to another."""
    rows = db.tuples(
        "SELECT id FROM usage_day WHERE enterprise_id = :enterprise_id"
        " AND day >= :first AND day <= :last ORDER BY day",
        enterprise_id=enterprise_id,
        first=first,
        last=last,
    )
    return [day_id for (day_id,) in rows]


def of_iso(text: str) -> int:
    """The number of `2026-11-20`. ValueError for anything else."""
    if len(text) != 10:
        raise ValueError(f"{text!r} is no day: YYYY-MM-DD")
    return number(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date())
