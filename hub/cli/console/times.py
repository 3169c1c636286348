"""Times as commands show them: in the local time zone, or in UTC with --utc."""

from datetime import UTC, datetime, tzinfo

import click

from store import clock
from store.clock import SECOND

IN_UTC = "tocsin.utc"
"""The key in click's `meta` that the option --utc sets."""


class Time(int):
    """Microseconds since the epoch, shown as a time."""


def format_time(moment: int | None) -> Time | None:
    """Return a time in microseconds since the epoch as a listing shows it, or None for None."""
    return None if moment is None else Time(moment)


def full(moment: int) -> str:
    """Format a time with its date, to the second, with its time zone."""
    return f"{_when(moment):%Y-%m-%d %H:%M:%S %Z}"


def short(moment: int) -> str:
    """Format a time for a table: without the year if that is this year's."""
    when = _when(moment)
    same = when.year == _when(clock.Clock().now()).year
    return f"{when:%m-%d %H:%M:%S}" if same else f"{when:%Y-%m-%d %H:%M}"


def _when(moment: int) -> datetime:
    when = datetime.fromtimestamp(moment // SECOND, UTC)
    try:
        return when.astimezone(_zone())
    except OverflowError:
        # In local time, it is in the year 0 or 10000.
        return when


def _zone() -> tzinfo | None:
    """Return the time zone to show: None is the local one."""
    context = click.get_current_context(silent=True)
    return UTC if context is not None and context.meta.get(IN_UTC) else None
