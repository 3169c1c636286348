"""Formatting of numbers, times and URLs for the dashboard.

Times and durations are in microseconds.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from urllib.parse import urlsplit

from store.clock import DAY, HOUR, MINUTE, SECOND, iso

Formatter = Callable[[float], str]
STEPS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s"))
# The steps above a second, each with the length of the next finer one.
FINER = [(length, unit, finer) for (length, unit), (finer, _) in pairwise(STEPS)]
UNITS = ("B", "kB", "MB", "GB", "TB")
# A narrow no-break space, the usual separator between groups of digits.
THIN = "\u202f"
# MASK replaces a password in a URL, and each VALUE of its query.
MASK = "•••"
MINUTES_OF_A_DAY = DAY // MINUTE
VALUE = re.compile(r"=[^&;]+")


def number(value: int) -> str:
    """Format a whole number in groups of three digits."""
    return f"{value:,}".replace(",", THIN)


def rate(many: int, minutes: float) -> str:
    """Format a rate: `0.18 a minute`, `1.5 a minute`, `240 a minute`.

    A positive rate is never shown as 0.
    """
    value = many / minutes
    if 0 < value < 0.01:
        return "< 0.01 a minute"
    return f"{f'{value:.2g}' if value < 10 else number(round(value))} a minute"


def duration(value: float) -> str:
    """Format a duration in two or three digits with its unit: `12 ms`, `3.4 s`, `5 min`, `2 d`."""
    if value < 1000:
        return f"{value:.0f} µs"
    if value < SECOND:
        return f"{_digits(value / 1000)} ms"
    if value < 100 * SECOND:
        return f"{_digits(value / SECOND)} s"
    length, unit = next(step for step in STEPS if value >= 2 * step[0])
    return f"{value / length:.0f} {unit}"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}".removesuffix(".0")


def ago(at: int, now: int) -> str:
    """Format a time relative to now: `3 s ago`, `in 5 min`, `now`."""
    distance = abs(now - at)
    if distance < SECOND:
        return "now"
    text = _length(distance)
    return f"{text} ago" if at <= now else f"in {text}"


def _length(distance: int) -> str:
    for length, unit, finer in FINER:
        if _rounded(distance, finer) * finer >= length:
            return f"{_rounded(distance, length)} {unit}"
    return f"{_rounded(distance, SECOND)} s"


def _rounded(distance: int, length: int) -> int:
    return (distance + length // 2) // length


def moment(at: int) -> str:
    """Format a time with its date, to the second: `2026-11-21 07:33:00 UTC`."""
    text = iso(at)
    return f"{text[:10]} {text[11:19]} UTC"


def clock(at: int) -> str:
    """Format a time of day, to the minute."""
    # A page has hundreds. This takes a fifth of the time of strftime.
    hour, minute = divmod(at // MINUTE % MINUTES_OF_A_DAY, 60)
    return f"{hour:02}:{minute:02}"


def day(at: int) -> str:
    """Format a time with its day, to the hour: `21 Nov, 06:00`."""
    when = datetime.fromtimestamp(at // SECOND, UTC)
    return f"{when.day} {when:%b}, {clock(at)}"


def size(value: float) -> str:
    """Format a number of bytes: `640 B`, `8.2 kB`."""
    unit = 0
    while value >= 1000 and unit < len(UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.0f} B" if not unit else f"{_digits(value)} {UNITS[unit]}"


def percent(part: float, whole: float) -> str:
    """Format a share; a dash if `whole` is 0. Only a complete share is shown as 100 %."""
    if not whole:
        return "–"
    share = 100 * part / whole
    if part < whole and share > 99.9:
        return "> 99.9 %"
    return f"{share:.0f} %" if share in (0, 100) else f"{share:.1f} %"


def pluralize(value: int, one: str, several: str = "") -> str:
    """Format a number with its noun: `1 hook`, `2 hooks`."""
    return f"{number(value)} {one if value == 1 else several or one + 's'}"


def masked(url: str) -> str:
    """Return a URL without the values in its query, without its fragment and without a password.

    Many receivers accept a token in the query of their URL.
    """
    # Most URLs have none of these, and a page shows dozens.
    if not any(mark in url for mark in "@?#"):
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.partition("?")[0]
    user, at, host = parts.netloc.rpartition("@")
    shown = f"{user.partition(':')[0]}:{MASK}@{host}" if ":" in user else f"{user}{at}{host}"
    query = VALUE.sub(f"={MASK}", parts.query) if "=" in parts.query else parts.query and MASK
    text = parts._replace(netloc=shown, query="", fragment="").geturl()
    return f"{text}?{query}" if query else text
