"""Conversion of times for HTML fields of type datetime-local, in UTC."""

from datetime import UTC, datetime

from store.clock import SECOND


def moment_of(text: str) -> int | None:
    """Parse `2026-11-21T07:33`, a date, or either with an offset. Return microseconds.

    Returns None for anything else.
    """
    try:
        found = datetime.fromisoformat(text[:40])
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        return int(found.timestamp()) * SECOND
    except (ValueError, OverflowError):
        return None


def field_of(at: int) -> str:
    """Format a time for such a field, to the minute."""
    return f"{datetime.fromtimestamp(at / SECOND, UTC):%Y-%m-%dT%H:%M}"
