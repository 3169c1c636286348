"""Conversion of times for HTML fields of type datetime-local, in UTC."""

from datetime import UTC, datetime

from store import clock
from store.clock import SECOND


def moment_of(text: str) -> int | None:
    """Parse `2026-11-21T07:33`, a date, or either with an offset. Return microseconds.

    Returns None for anything else.
    """
    try:
        return clock.parse(text[:40]) // SECOND * SECOND
    except ValueError:
        return None


def shown(text: str) -> str:
    """Return a time in the form that such a field shows. Any other text stays as it is.

    A browser shows no time with an offset and no date alone, and then the form would lose it.
    """
    moment = moment_of(text)
    if moment is None:
        return text
    found = datetime.fromtimestamp(moment // SECOND, UTC)
    return found.replace(tzinfo=None).isoformat(timespec="seconds").removesuffix(":00")


def field_of(at: int) -> str:
    """Format a time for such a field, to the minute."""
    return f"{datetime.fromtimestamp(at // SECOND, UTC):%Y-%m-%dT%H:%M}"
