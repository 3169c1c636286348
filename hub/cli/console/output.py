"""The output of commands: tables for people, JSON for programs, no control characters.

A listing is a sequence of rows, which are dicts with the same keys. The keys are the table's
headings.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import orjson

from store import clock

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

# Tables are not folded: people copy from them, and terminals wrap lines themselves.
WIDE = 1_000


class Time(int):
    """Microseconds since the epoch, shown as a time."""


def format_time(moment: int | None) -> Time | None:
    """Return a time for a listing, or None for None."""
    return None if moment is None else Time(moment)


def console(*, error: bool = False) -> "Console":
    """Return a console for standard output or standard error.

    It is created anew each time, because tests replace the streams.
    """
    from rich.console import Console

    return Console(stderr=error, highlight=False)


def print_rows(rows: Sequence[Mapping[str, Any]], *, as_json: bool, empty: str) -> None:
    """Print rows as a table or as a JSON array. If there are none, print `empty` for the table."""
    if as_json:
        click.echo(dumps(rows))
    elif rows:
        from rich.console import Console

        Console(highlight=False, width=WIDE).print(table(rows))
    else:
        click.echo(empty)


def table(rows: Sequence[Mapping[str, Any]]) -> "Table":
    """Return a table of rows that all have the first row's keys, without its empty columns."""
    from rich.table import Table

    names = [name for name in rows[0] if any(row[name] not in (None, {}, []) for row in rows)]
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        number = all(_is_number(row[name]) for row in rows)
        made.add_column(name.replace("_", " "), justify="right" if number else "left")
    for row in rows:
        made.add_row(*(cell(row[name]) for name in names))
    return made


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool | Time))


def cell(value: Any) -> "Text":
    """Return a value as a table shows it, without control characters."""
    from rich.text import Text

    return Text(plain(value), style="dim" if value is None else "")


def plain(value: Any) -> str:
    """Return a value as text, without control characters."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Time):
        return clock.iso(value).replace("T", " ").removesuffix("Z")
    if isinstance(value, Mapping):
        return printable(", ".join(f"{key}={each}" for key, each in value.items()) or "-")
    if isinstance(value, str) or not isinstance(value, Iterable):
        return printable(str(value))
    return printable(", ".join(map(str, value)) or "-")


def printable(text: str, *, lines: bool = False) -> str:
    """Return `text` with control characters escaped, so that foreign text cannot control the
    terminal.

    `lines` keeps line ends and tabs.
    """
    kept = "\n\t" if lines else ""
    return "".join(
        char if char.isprintable() or char in kept else char.encode("unicode_escape").decode()
        for char in text
    )


def dumps(value: Any, *, indent: bool = True) -> str:
    """Return a value as JSON, with times in ISO 8601."""
    options = orjson.OPT_PASSTHROUGH_SUBCLASS | (orjson.OPT_INDENT_2 if indent else 0)
    return orjson.dumps(value, default=_default, option=options).decode()


def _default(value: Any) -> Any:
    if isinstance(value, Time):
        return clock.iso_micro(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)


def print_note(message: str) -> None:
    """Print a message for the person at the terminal to standard error, apart from the output."""
    click.echo(message, err=True)
