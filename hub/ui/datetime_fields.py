"""Moments in forms, as a browser's fields for date and time have them; in UTC."""

from datetime import UTC, datetime

from store.clock import SECOND


def moment_of(text: str) -> int | None:
    """Microseconds of `2026-11-21T07:33`, of a day, or of either with an offset; None for what is
    none of these.
    """
    try:
        found = datetime.fromisoformat(text[:40])
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        return int(found.timestamp()) * SECOND
    except (ValueError, OverflowError):
        return None


def field_of(at: int) -> str:
    """A moment as such a field has it, to the minute."""
    return f"{datetime.fromtimestamp(at / SECOND, UTC):%Y-%m-%dT%H:%M}"
