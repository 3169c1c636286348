"""The table of figures: for people, and for the README."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from tests.benchmarks.figure import Row

BEGIN, END = "<!-- figures -->", "<!-- /figures -->"
MARKS = {True: "met", False: "missed", None: ""}


def table(rows: Sequence[Row]) -> Table:
    """The figures as a table for the terminal."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    made.add_column("figure", no_wrap=True)
    for name in ("ours", "reference", "ratio", "wanted"):
        made.add_column(name, justify="right")
    made.add_column("")
    for row in rows:
        style = "red" if row.met is False else None
        made.add_row(*_cells(row), MARKS[row.met], style=style)
    return made


def markdown(rows: Sequence[Row], notes: Sequence[str]) -> str:
    """The README's table, with what it was measured on."""
    lines = ["| figure | ours | reference | ratio | wanted | |", "|---|--:|--:|--:|--:|---|"]
    lines += [f"| {' | '.join((*_cells(row), MARKS[row.met]))} |" for row in rows]
    return "\n".join([*lines, "", " ".join([_machine(), *notes])])


def write(readme: Path, text: str) -> None:
    """Put the table into the README, in place of the one that is there. ValueError where it has
    no place for it.
    """
    before, begin, rest = readme.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{readme} has no {BEGIN} and {END}")
    readme.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def _machine() -> str:
    cores = len(os.sched_getaffinity(0))
    return f"Measured on {cores} cores with Python {platform.python_version()}."


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.figure,
        _value(row.ours, row.unit),
        _value(row.reference, row.unit),
        "" if row.ratio is None else f"{row.ratio:.2f}",
        _wanted(row),
    )


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}".strip()


def _wanted(row: Row) -> str:
    if row.wanted is None:
        return ""
    sign = "≥" if row.more else "≤"
    return f"{sign} {row.wanted:g} {row.unit if row.absolute else ''}".strip()
