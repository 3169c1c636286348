"""The triggers of jobs: intervals, the calendar, and the stored data.

Each trigger decides by a job's stored row alone. So if a clock jumps or no worker runs, only the
overdue runs change. All times are UTC.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from store import Connection, Row
from store.clock import SECOND

WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FIELDS = 5


class Trigger(Protocol):
    """The rule that decides when a job is due."""

    @property
    def words(self) -> str:
        """Return the schedule as an operator reads it."""

    def due(self, db: Connection, row: Row | None) -> int | None:
        """Return when the job with this row is due, in microseconds. Return None if it is not due
        for now.
        """

    def next(self, db: Connection, row: Row) -> int | None:
        """Return when the job is due again after the run in this row, in microseconds, or None."""


@dataclass(frozen=True, slots=True)
class IntervalTrigger:
    """A trigger at intervals of `seconds` seconds, the first time at once."""

    seconds: float

    @property
    def words(self) -> str:
        return f"every {self.seconds:g} s"

    def due(self, db: Connection, row: Row | None) -> int | None:
        if row is None or row["due_at"] is None:
            return db.now
        # A later time was set by a clock that was ahead.
        return min(int(row["due_at"]), db.now + round(self.seconds * SECOND))

    def next(self, db: Connection, row: Row) -> int | None:
        return int(row["started_at"]) + round(self.seconds * SECOND)


@dataclass(frozen=True, slots=True)
class DataTrigger:
    """A trigger that stored data decides.

    `next_due` returns the earliest time at which there is work, or None.
    """

    next_due: Callable[[Connection], int | None]

    @property
    def words(self) -> str:
        return "when needed"

    def due(self, db: Connection, row: Row | None) -> int | None:
        return self.next_due(db)

    def next(self, db: Connection, row: Row) -> int | None:
        return self.next_due(db)


class RequestTrigger(DataTrigger):
    """A trigger for jobs that run as soon as they are requested.

    `next_due` returns when it was requested. A clock that was ahead then does not delay the job.
    """

    def due(self, db: Connection, row: Row | None) -> int | None:
        asked = self.next_due(db)
        return None if asked is None else min(asked, db.now)

    def next(self, db: Connection, row: Row) -> int | None:
        return self.due(db, row)


class CalendarTrigger:
    """A trigger by five fields of cron: minute, hour, day of the month, month, day of the week.
    Raises ValueError if the text is invalid. If both days are given, both have to match.
    """

    def __init__(self, text: str) -> None:
        fields = text.split()
        if len(fields) != FIELDS:
            raise ValueError(f"{text!r} does not have the five fields of cron")
        self.words = text
        # Imported here, because all commands read the settings and few use a schedule.
        from apscheduler.triggers.cron import CronTrigger

        minute, hour, day, month, weekday = fields
        self._trigger = CronTrigger(
            minute=minute,
            hour=hour,
            day=day,
            month=month,
            day_of_week=_weekdays(weekday),
            timezone=UTC,
        )

    def due(self, db: Connection, row: Row | None) -> int | None:
        if row is None or row["due_at"] is None or row["schedule"] != self.words:
            return self.due_after(db.now)
        if row["due_at"] <= db.now:
            return int(row["due_at"])
        return self._unserved(db.now, row["served_at"])

    def next(self, db: Connection, row: Row) -> int | None:
        on_time = row["due_at"] is not None and row["due_at"] <= row["started_at"]
        return self._unserved(db.now, row["started_at"] if on_time else row["served_at"])

    def _unserved(self, now: int, served_at: int | None) -> int | None:
        """Return the next time that was not served before the clock was set back."""
        first = self.due_after(now)
        if first is None or served_at is None or served_at < first:
            return first
        second = self.due_after(first)
        # The clock that served it was further ahead, so its time is no evidence.
        return first if second is not None and served_at >= second else second

    def due_after(self, moment: int) -> int | None:
        """Return the first time after this one, both in microseconds. Return None if there is
        none.
        """
        # The search starts a second later, because it includes the start.
        start = datetime.fromtimestamp(moment // SECOND + 1, UTC)
        found = self._trigger.get_next_fire_time(None, start)
        return None if found is None else round(found.timestamp()) * SECOND


def validate_cron(text: str) -> str:
    """Return the text. Raise ValueError if it is no valid cron schedule, or never matches."""
    if CalendarTrigger(text).due_after(0) is None:
        raise ValueError(f"{text!r} never matches a time")
    return text


def _weekdays(field: str) -> str:
    """Return the weekdays by name.

    Numbers would be ambiguous: 0 is Sunday in cron and Monday in APScheduler.
    """
    if not any(char.isdigit() for char in field):
        return field
    try:
        days = [day for part in field.split(",") for day in _days(part)]
    except ValueError:
        raise ValueError(
            f"{field!r} is not a list of weekdays: use 0 to 7, or mon to sun"
        ) from None
    return ",".join(dict.fromkeys(WEEKDAYS[day % 7] for day in days))


def _days(part: str) -> range:
    span, _, step = part.partition("/")
    first, _, last = ("0", "-", "6") if span == "*" else span.partition("-")
    begin, end = int(first), int(last or first)
    if not 0 <= begin <= end <= len(WEEKDAYS):
        raise ValueError(part)
    return range(begin, end + 1, int(step or 1))
