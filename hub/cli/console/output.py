"""The output of commands: tables for people, lines of tabs or JSON for programs.

A listing is a sequence of rows, which are dicts with the same keys. The keys are the table's
headings. Text from outside is shown without control characters.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hub.cli.console.json_text import dumps
from hub.cli.console.plain_text import plain, printable
from hub.cli.console.times import Time, format_time
from store import clock

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Time", "dumps", "format_time", "plain", "printable"]


def is_terminal() -> bool:
    """Return whether a person reads standard output."""
    return sys.stdout.isatty()


def console(*, error: bool = False) -> "Console":
    """Return a console for standard output or standard error.

    It is created anew each time, because tests replace the streams.
    """
    from rich.console import Console

    return Console(stderr=error, highlight=False)


def print_rows(
    rows: Sequence[Mapping[str, Any]],
    *,
    as_json: bool,
    empty: str,
    columns: Sequence[str] = (),
    spare: Sequence[str] = (),
) -> None:
    """Print rows: a table on a terminal, a line with tabs for each row elsewhere, or a JSON array.

    The table has only `columns`, if they are given, and on a narrow terminal not all of `spare`. If
    there are no rows, `empty` goes to standard error.
    """
    if as_json:
        click.echo(dumps(rows))
    elif not rows:
        print_note(empty)
    elif is_terminal():
        print_table([_chosen(row, columns) for row in rows], spare)
    else:
        for row in rows:
            click.echo("\t".join(map(field, row.values())))


def _chosen(row: Mapping[str, Any], columns: Sequence[str]) -> Mapping[str, Any]:
    return {name: row[name] for name in columns} if columns else row


def copied(row: Mapping[str, Any], names: str) -> dict[str, Any]:
    """Return these columns of a row, such as `id, created_at`.

    Columns whose names end in `_at` are times.
    """
    return {
        name: format_time(row[name]) if name.endswith("_at") else row[name]
        for name in names.split(", ")
    }


def print_table(rows: Sequence[Mapping[str, Any]], spare: Sequence[str] = ()) -> None:
    """Print a table that fits the terminal, if need be without the columns in `spare`."""
    from hub.cli.console import tables

    made = console()
    made.print(tables.fitting(rows, made.width, spare), soft_wrap=True)


def print_record(row: Mapping[str, Any], *, as_json: bool) -> None:
    """Print one thing with all its members: a line for each on a terminal, tabs elsewhere, JSON."""
    if as_json:
        click.echo(dumps(row))
        return
    width = max(len(name) for name in row)
    for name, value in row.items():
        if is_terminal():
            click.echo(f"{name.replace('_', ' '):{width}}  {plain(value)}")
        else:
            click.echo(f"{name}\t{field(value)}")


def field(value: Any) -> str:
    """Return a value for a program: times are ISO 8601 in UTC, and nothing is an empty text."""
    if value is None or (isinstance(value, Mapping | list | tuple) and not value):
        return ""
    return clock.iso(value) if isinstance(value, Time) else plain(value)


def print_note(message: str) -> None:
    """Print a message for the person at the terminal to standard error, apart from the output."""
    click.echo(printable(message, lines=True), err=True)
