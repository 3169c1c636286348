"""The due times of jobs, on a movable clock."""

import itertools
import os
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from store import Row
from store.clock import DAY, HOUR, MINUTE, SECOND, iso, parse
from worker.scheduler.triggers import (
    CalendarTrigger,
    DataTrigger,
    IntervalTrigger,
    Trigger,
    validate_cron,
)
from worker.settings import WorkerSettings

NIGHTLY = "15 0 * * *"


class Kept:
    """A trigger, the stored row of its job, and a movable clock."""

    def __init__(self, when: Trigger, now: str = "2026-11-21T07:33:00Z") -> None:
        self.when = when
        self.now = parse(now)
        self.row: Row | None = None

    @property
    def db(self) -> Any:
        return SimpleNamespace(now=self.now)

    def due(self) -> str | None:
        """Store when the job is due, and return it as text, or None."""
        due_at = self.when.due(self.db, self.row)
        served = self.row["served_at"] if self.row else None
        self.row = {"due_at": due_at, "served_at": served, "schedule": self.when.words}
        return None if due_at is None else iso(due_at)

    def run(self) -> str | None:
        """Record a run as the store does. Return when the job is due next, as text, or None."""
        assert self.row is not None
        taken = self.row | {"started_at": self.now}
        on_time = taken["due_at"] is not None and taken["due_at"] <= self.now
        next_due = self.when.next(self.db, taken)
        served = self.now if on_time else taken["served_at"]
        self.row = self.row | {"due_at": next_due, "served_at": served}
        return None if next_due is None else iso(next_due)

    def pass_time(self, microseconds: int) -> None:
        self.now += microseconds


def times(text: str, many: int, start: str = "2026-11-21T07:33:00Z") -> list[str]:
    found, moment = [], parse(start)
    for _ in range(many):
        after = CalendarTrigger(text).due_after(moment)
        assert after is not None
        moment = after
        found.append(iso(moment).removesuffix(":00Z"))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*/10 * * * *", ["2026-11-21T07:40", "2026-11-21T07:50"]),
        (NIGHTLY, ["2026-11-22T00:15", "2026-11-23T00:15"]),
        ("0 0 1 * *", ["2026-12-01T00:00", "2027-01-01T00:00"]),
        ("0 6 29 2 *", ["2028-02-29T06:00", "2032-02-29T06:00"]),
        # Weekdays are numbered as in cron: Sunday is 0 and 7.
        ("0 0 * * 0", ["2026-11-22T00:00", "2026-11-29T00:00"]),
        ("0 0 * * 7", ["2026-11-22T00:00", "2026-11-29T00:00"]),
        ("0 0 * * 1-2,5", ["2026-11-23T00:00", "2026-11-24T00:00", "2026-11-27T00:00"]),
        ("0 0 * * */3", ["2026-11-22T00:00", "2026-11-25T00:00", "2026-11-28T00:00"]),
        ("0 0 * * mon", ["2026-11-23T00:00", "2026-11-30T00:00"]),
    ],
)
def test_calendar_expressions_have_their_times(text: str, expected: list[str]) -> None:
    assert times(text, len(expected)) == expected


@pytest.mark.parametrize(
    "text",
    ["", "* * * *", "* * * * * *", "60 * * * *", "*/0 * * * *", "a b c d e", "@daily"],
)
def test_an_invalid_schedule_is_rejected(text: str) -> None:
    with pytest.raises(ValueError):
        validate_cron(text)


def test_the_default_schedules_are_valid_though_the_settings_do_not_parse_them() -> None:
    settings = WorkerSettings()
    for text in (settings.prune_at, settings.reports_at):
        assert validate_cron(text) == text


@pytest.mark.parametrize(
    "text", ["0 0 30 2 *", "0 0 * * 8", "0 0 * * 5-2", "0 0 * * 1/0", "0 0 * * x1"]
)
def test_impossible_days_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="prune_at"):
        WorkerSettings(prune_at=text)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose local time has daylight saving."""
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    if before is None:
        monkeypatch.delenv("TZ")
    time.tzset()


@pytest.mark.parametrize("night", ["2026-03-28", "2026-10-24"])
def test_daylight_saving_changes_nothing(berlin: None, night: str) -> None:
    begin = f"{night}T12:00:00Z"
    found = [parse(f"{each}:00Z") for each in times("30 1 * * *", 3, begin)]
    assert [iso(each)[11:16] for each in found] == ["01:30"] * 3
    assert [later - earlier for earlier, later in itertools.pairwise(found)] == [DAY] * 2
    assert len(times("30 * * * *", 24, begin)) == len(set(times("30 * * * *", 24, begin)))


def test_each_time_is_due_once() -> None:
    kept = Kept(CalendarTrigger(NIGHTLY))
    assert kept.due() == "2026-11-22T00:15:00Z"
    kept.now = parse("2026-11-22T00:15:00Z")
    assert kept.due() == "2026-11-22T00:15:00Z"
    assert kept.run() == "2026-11-23T00:15:00Z"
    assert kept.due() == "2026-11-23T00:15:00Z"


def test_missed_runs_are_made_up_for_once() -> None:
    kept = Kept(CalendarTrigger(NIGHTLY))
    kept.due()
    kept.pass_time(5 * DAY)
    assert kept.due() == "2026-11-22T00:15:00Z"
    assert kept.run() == "2026-11-27T00:15:00Z"


def test_a_clock_that_is_put_back_a_little_runs_nothing_twice() -> None:
    kept = Kept(CalendarTrigger(NIGHTLY), "2026-11-22T00:15:00Z")
    kept.now -= SECOND
    kept.due()
    kept.pass_time(SECOND)
    assert kept.run() == "2026-11-23T00:15:00Z"
    for back in (SECOND, HOUR, 20 * HOUR):
        kept.pass_time(-back)
        assert kept.due() == "2026-11-23T00:15:00Z", back
        kept.pass_time(back)


def test_a_clock_that_was_days_ahead_is_forgotten() -> None:
    kept = Kept(CalendarTrigger(NIGHTLY))
    kept.due()
    kept.pass_time(3 * DAY)
    kept.due()
    assert kept.run() == "2026-11-25T00:15:00Z"
    kept.pass_time(-3 * DAY)
    assert kept.due() == "2026-11-22T00:15:00Z"
    kept.now = parse("2026-11-22T00:15:00Z")
    assert kept.run() == "2026-11-23T00:15:00Z"


def test_another_schedule_counts_at_once() -> None:
    kept = Kept(CalendarTrigger(NIGHTLY))
    kept.due()
    kept.when = CalendarTrigger("0 8 * * *")
    assert kept.due() == "2026-11-21T08:00:00Z"


def test_run_by_hand_it_is_run_at_its_time_too() -> None:
    kept = Kept(CalendarTrigger(NIGHTLY))
    kept.due()
    assert kept.run() == "2026-11-22T00:15:00Z"


def test_an_interval_begins_after_each_run() -> None:
    kept = Kept(IntervalTrigger(600))
    assert kept.when.words == "every 600 s"
    assert kept.due() == "2026-11-21T07:33:00Z"
    assert kept.run() == "2026-11-21T07:43:00Z"
    kept.pass_time(9 * MINUTE)
    assert kept.due() == "2026-11-21T07:43:00Z"
    kept.pass_time(DAY)
    assert kept.due() == "2026-11-21T07:43:00Z"
    assert kept.run() == "2026-11-22T07:52:00Z"
    # If the clock is put back, the job is due after one interval at the latest.
    kept.pass_time(-DAY)
    assert kept.due() == "2026-11-21T07:52:00Z"


def test_a_data_trigger_is_due_at_the_given_moment() -> None:
    moments: list[int | None] = [None, parse("2026-11-21T08:00:00Z"), None]
    kept = Kept(DataTrigger(lambda db: moments.pop(0)))
    assert kept.due() is None
    assert kept.due() == "2026-11-21T08:00:00Z"
    assert kept.run() is None
