"""When jobs are due: after a pause, by the calendar, or at the moment that the data says.

Each answers from what is kept of a job alone, so that a clock that jumped, or a worker that was
away, changes nothing but which runs are overdue. All times are UTC.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from apscheduler.triggers.cron import CronTrigger

from store import Connection, Row
from store.clock import SECOND

WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FIELDS = 5


class Trigger(Protocol):
    """When a job is due."""

    @property
    def words(self) -> str:
        """How an operator reads it."""

    def due(self, db: Connection, row: Row | None) -> int | None:
        """When it is due, as of now, by what is kept of it; None for never, as things stand."""

    def next(self, db: Connection, row: Row) -> int | None:
        """When it is due again after the run that is kept in this row."""


@dataclass(frozen=True, slots=True)
class IntervalTrigger:
    """Every so many seconds, the first time at once."""

    seconds: float

    @property
    def words(self) -> str:
        return f"every {self.seconds:g} s"

    def due(self, db: Connection, row: Row | None) -> int | None:
        if row is None or row["due_at"] is None:
            return db.now
        # Further off than that it was put by a clock that was ahead.
        return min(int(row["due_at"]), db.now + round(self.seconds * SECOND))

    def next(self, db: Connection, row: Row) -> int | None:
        return int(row["started_at"]) + round(self.seconds * SECOND)


@dataclass(frozen=True, slots=True)
class DataTrigger:
    """When the data says: `look` tells the earliest moment that there is something to be done."""

    look: Callable[[Connection], int | None]

    @property
    def words(self) -> str:
        return "at the moment"

    def due(self, db: Connection, row: Row | None) -> int | None:
        return self.look(db)

    def next(self, db: Connection, row: Row) -> int | None:
        return self.look(db)


class RequestTrigger(DataTrigger):
    """As soon as somebody has asked for it, which `look` tells; it is late for nobody's clock."""

    def due(self, db: Connection, row: Row | None) -> int | None:
        asked = self.look(db)
        return None if asked is None else min(asked, db.now)

    def next(self, db: Connection, row: Row) -> int | None:
        return self.due(db, row)


class CalendarTrigger:
    """As five fields of cron say: minute, hour, day of the month, month, day of the week.

    ValueError for what is no such text. Where both days are named, both have to be right.
    """

    def __init__(self, text: str) -> None:
        fields = text.split()
        if len(fields) != FIELDS:
            raise ValueError(f"{text!r} has not the five fields of cron")
        self.words = text
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
        """The next time that was not served before, by a clock that was put back since."""
        first = self.due_after(now)
        if first is None or served_at is None or served_at < first:
            return first
        second = self.due_after(first)
        # A clock that was further ahead than that is no guide.
        return first if second is not None and served_at >= second else second

    def due_after(self, moment: int) -> int | None:
        """The first time after a moment; None where there is none."""
        # The trigger would give this very moment, if it were one.
        start = datetime.fromtimestamp(moment // SECOND + 1, UTC)
        found = self._trigger.get_next_fire_time(None, start)
        return None if found is None else round(found.timestamp()) * SECOND


def validate_cron(text: str) -> str:
    """The text, if it is one for a Calendar. ValueError if it is not, or names no day at all."""
    if CalendarTrigger(text).due_after(0) is None:
        raise ValueError(f"{text!r} names no time that there will ever be")
    return text


def _weekdays(field: str) -> str:
    """By name, for the numbers of cron begin with Sunday and those of the trigger with Monday."""
    if not any(char.isdigit() for char in field):
        return field
    try:
        days = [day for part in field.split(",") for day in _days(part)]
    except ValueError:
        raise ValueError(f"{field!r} are no days of the week: 0 to 7, or mon to sun") from None
    return ",".join(dict.fromkeys(WEEKDAYS[day % 7] for day in days))


def _days(part: str) -> range:
    span, _, step = part.partition("/")
    first, _, last = ("0", "-", "6") if span == "*" else span.partition("-")
    begin, end = int(first), int(last or first)
    if not 0 <= begin <= end <= len(WEEKDAYS):
        raise ValueError(part)
    return range(begin, end + 1, int(step or 1))
