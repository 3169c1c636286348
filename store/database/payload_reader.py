"""Reading what others tell: members of JSON objects from elsewhere, of which nothing is certain.

What is not understood counts as not told. Nothing in here raises on anybody's data.
"""

from collections.abc import Callable, Mapping
from typing import Any

from store import clock
from store.clock import SECOND

MOST_INTEGER = 2**63
# The year 10,000, beyond which no time can be shown.
MOST_SECONDS = 253_402_300_800
MOST_PARTS = 100

Reader = Callable[[Any], Any]
"""Takes the value of a member, which is not None, and returns what is kept, or ODD."""
INVALID: Any = object()


def number(value: Any) -> Any:
    """A whole number that is not negative."""
    # bool is an int, and no number.
    return value if type(value) is int and 0 <= value < MOST_INTEGER else INVALID


def flag(value: Any) -> Any:
    """0 or 1."""
    return int(value) if isinstance(value, bool) else INVALID


def text(most: int, least: int = 0) -> Reader:
    """A text of at least so many characters, cut off after `most`."""

    def read(value: Any) -> Any:
        # Not every engine keeps a NUL in a text.
        found = value.replace("\0", "")[:most] if isinstance(value, str) else None
        return INVALID if found is None or len(found) < least else found

    return read


def one_of(*values: str) -> Reader:
    """One of these texts."""
    return lambda value: value if isinstance(value, str) and value in values else INVALID


def timestamp(value: Any) -> Any:
    """Microseconds, of an ISO 8601 time or of whole seconds since the epoch."""
    if type(value) is int:
        return value * SECOND if 0 <= value < MOST_SECONDS else INVALID
    try:
        found = clock.parse(value)
    except (TypeError, ValueError, OverflowError):
        return INVALID
    return found if found >= 0 else INVALID


def nullable(reader: Reader) -> Reader:
    """The same, or null, which says that there is none any more."""

    def read(value: Any) -> Any:
        return None if value is None else reader(value)

    return read


Readers = Mapping[str, Reader | tuple[str, Reader]]


def read_fields(given: Mapping[str, Any], readers: Readers) -> Any:
    """Column to value, of the members that are told and understood.

    `readers` gives each column its reader, with the member's name where that is another one.
    """
    found = {}
    for column, how in readers.items():
        name, reader = (column, how) if callable(how) else how
        if name in given:
            value = reader(given[name])
            if value is not INVALID:
                found[column] = value
    return found


def read_field(given: Mapping[str, Any], name: str, reader: Reader) -> Any:
    """One member; None where it is not told, or not understood."""
    return read_fields(given, {name: reader}).get(name)


def read_object(given: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """An object within; None where there is none."""
    found = given.get(name)
    return found if isinstance(found, dict) else None


def read_object_list(given: Mapping[str, Any], name: str) -> list[dict[str, Any]] | None:
    """The objects of an array within, the first hundred; None where there is no array."""
    found = given.get(name)
    if not isinstance(found, list):
        return None
    return [each for each in found[:MOST_PARTS] if isinstance(each, dict)]
