"""Conversion of times for HTML fields of type datetime-local, in UTC."""

from datetime import UTC, datetime

from store.clock import SECOND


def moment_of(text: str) -> int | None:
    """Parse `2026-11-21T07:33`, a date, or either with an offset. Return microseconds.

    Returns None for anything else.
    """
    found = _read(text)
    return None if found is None else int(found.timestamp()) * SECOND


def shown(text: str) -> str:
    """Return a time in the form that such a field shows. Any other text stays as it is.

    A browser shows no time with an offset and no date alone, and then the form would lose it.
    """
    found = _read(text)
    if found is None:
        return text
    return found.replace(tzinfo=None).isoformat(timespec="seconds").removesuffix(":00")


def _read(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text[:40])
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def field_of(at: int) -> str:
    """Format a time for such a field, to the minute."""
    return f"{datetime.fromtimestamp(at / SECOND, UTC):%Y-%m-%dT%H:%M}"
