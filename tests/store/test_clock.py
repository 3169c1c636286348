"""Time: whole microseconds, written and read without a loss."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.clock import DAY, HOUR, MINUTE, SECOND, Clock, MovableClock, iso, iso_micro, parse

MOMENT = 1_795_246_380_000_000
NEVER = round(datetime(9999, 12, 31, tzinfo=UTC).timestamp()) * SECOND


def test_the_systems_clock_is_in_microseconds() -> None:
    before = time.time()
    now = Clock().now()
    assert before - 1 < now / SECOND < time.time() + 1


def test_a_movable_clock_moves_only_when_it_is_moved() -> None:
    clock = MovableClock(MOMENT)
    assert clock.now() == clock.now() == MOMENT
    clock.advance(1.5)
    assert clock.now() == MOMENT + 1_500_000
    clock.advance(-0.000001)
    assert clock.now() == MOMENT + 1_499_999


def test_a_movable_clock_begins_now_by_default() -> None:
    assert abs(MovableClock().now() - Clock().now()) < MINUTE


def test_units_of_time() -> None:
    assert (SECOND, MINUTE, HOUR, DAY) == (10**6, 60 * 10**6, 3600 * 10**6, 86400 * 10**6)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21T07:33:00Z", MOMENT),
        ("2026-11-21T07:33:00", MOMENT),
        ("2026-11-21T08:33:00+01:00", MOMENT),
        ("2026-11-21T07:33:00.000001Z", MOMENT + 1),
        ("2026-11-21", MOMENT - 7 * HOUR - 33 * MINUTE),
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.5Z", -500_000),
        ("9999-12-30T23:59:59.999999Z", NEVER - 1),
        ("9999-12-31T23:59:59.999999Z", NEVER + DAY - 1),
    ],
)
def test_moments_are_parsed(text: str, moment: int) -> None:
    assert parse(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-13-01",
        "2026-11-21T25:00:00Z",
        "1",
        "9999-12-31T23:59:59-00:01",
        "0001-01-01T00:00:00+00:01",
    ],
)
def test_an_invalid_time_is_rejected(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_moments_are_written_in_the_api_s_form() -> None:
    assert iso(MOMENT + 999_999) == "2026-11-21T07:33:00Z"
    assert iso_micro(MOMENT + 42) == "2026-11-21T07:33:00.000042Z"


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, NEVER))
def test_a_time_survives_being_written_and_read(moment: int) -> None:
    assert parse(iso_micro(moment)) == moment
    assert parse(iso(moment)) == moment // SECOND * SECOND
