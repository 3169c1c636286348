"""Readers for untrusted JSON payloads.

A value that is not understood counts as absent. Nothing in here raises for any data.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from itertools import accumulate
from typing import Any

import orjson

from store import clock
from store.clock import SECOND

MOST_INTEGER = 2**63
MOST_INT32 = 2**31 - 1
# The year 10,000. Later times cannot be formatted.
MOST_SECONDS = 253_402_300_800
MOST_PARTS = 100

Reader = Callable[[Any], Any]
"""A function that converts a member's value, or returns INVALID."""
INVALID: Any = object()


def number(value: Any) -> Any:
    """Read an integer that is not negative."""
    # bool is a subclass of int, but is no number here.
    return value if type(value) is int and 0 <= value < MOST_INTEGER else INVALID


def positive(value: Any) -> Any:
    """Read an integer above 0."""
    return INVALID if value == 0 else number(value)


def int32(value: Any) -> Any:
    """Read an integer that is not negative and to which the hub adds, so that the sum fits, too."""
    return INVALID if number(value) is INVALID or value > MOST_INT32 else value


def flag(value: Any) -> Any:
    """Read a Boolean as 0 or 1."""
    return int(value) if isinstance(value, bool) else INVALID


def text(most: int, least: int = 0) -> Reader:
    """Return a reader for a text of at least `least` characters, cut off after `most`."""

    def read(value: Any) -> Any:
        # Not every engine can store NUL in a text.
        found = value.replace("\0", "")[:most] if isinstance(value, str) else None
        return INVALID if found is None or len(found) < least else found

    return read


def one_of(*values: str) -> Reader:
    """Return a reader for one of these texts."""
    return lambda value: value if isinstance(value, str) and value in values else INVALID


def timestamp(value: Any) -> Any:
    """Read an ISO 8601 time, or whole seconds since the epoch, as microseconds."""
    if type(value) is int:
        return value * SECOND if 0 <= value < MOST_SECONDS else INVALID
    try:
        found = clock.parse(value)
    except (TypeError, ValueError, OverflowError):
        return INVALID
    return found if found >= 0 else INVALID


def nullable(reader: Reader) -> Reader:
    """Return a reader that also accepts null, which means that there is no value any more."""

    def read(value: Any) -> Any:
        return None if value is None else reader(value)

    return read


Readers = Mapping[str, Reader | tuple[str, Reader]]
TIMES: Readers = {
    "created_at": timestamp,
    "updated_at": timestamp,
    "reported_at": ("updated_at", timestamp),
}
"""The times of what a platform reports, for `upsert`."""


def read_fields(given: Mapping[str, Any], readers: Readers) -> Any:
    """Read all members that are present and valid. Return column to value.

    `readers` has a reader for each column, and the member's name if that differs.
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
    """Read one member. Return None if it is absent or invalid."""
    return read_fields(given, {name: reader}).get(name)


def read_object(given: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return an object in the payload, or None if there is none."""
    found = given.get(name)
    return found if isinstance(found, dict) else None


def read_part(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an object in the payload, or an empty one if there is none."""
    return read_object(given, name) or {}


def read_object_list(
    given: Mapping[str, Any], name: str, most: int = MOST_PARTS
) -> list[dict[str, Any]] | None:
    """Return the objects among an array's first `most` members, or None if there is no array."""
    found = given.get(name)
    if not isinstance(found, list):
        return None
    return [each for each in found[:most] if isinstance(each, dict)]


def within(parts: Iterable[Any], most: int) -> list[Any]:
    """Return the first parts of a list that have together up to `most` bytes as JSON."""
    parts = list(parts)
    ends = accumulate(len(orjson.dumps(each)) for each in parts)
    return [each for each, end in zip(parts, ends, strict=True) if end <= most]


def read_complete_objects(
    given: Mapping[str, Any],
    name: str,
    readers: Readers,
    required: Set[str],
    most: int = MOST_PARTS,
) -> list[dict[str, Any]] | None:
    """Read the objects of `read_object_list`, and leave out those without a required column."""
    reported = read_object_list(given, name, most)
    if reported is None:
        return None
    found = [read_fields(each, readers) for each in reported]
    return [one for one in found if one.keys() >= required]
