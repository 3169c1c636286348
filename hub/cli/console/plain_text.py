"""Values as text for a terminal, without control characters."""

from collections.abc import Iterable, Mapping
from typing import Any

from hub.cli.console import times
from hub.cli.console.json_text import dumps
from hub.cli.console.times import Time


def plain(value: Any) -> str:
    """Return a value as text, without control characters. A nested object or list is JSON."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Time):
        return times.full(value)
    if isinstance(value, Mapping):
        return printable(", ".join(f"{key}={_part(each)}" for key, each in value.items()) or "-")
    if isinstance(value, str) or not isinstance(value, Iterable):
        return printable(str(value))
    return printable(", ".join(map(_part, value)) or "-")


def _part(value: Any) -> str:
    has_parts = isinstance(value, Mapping | list | tuple)
    return dumps(value, indent=False) if has_parts else plain(value)


def printable(text: str, *, lines: bool = False) -> str:
    """Return `text` with control characters escaped. `lines` keeps line ends and tabs.

    Text from outside then cannot control the terminal.
    """
    kept = "\n\t" if lines else ""
    return "".join(
        char if char.isprintable() or char in kept else char.encode("unicode_escape").decode()
        for char in text
    )
