"""The table of figures: for people, and for the README."""

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table

from tests.benchmarks.figure import Row

BEGIN, END = "<!-- figures -->", "<!-- /figures -->"
# Figures by name that are folded away in the README, under a title; the others come first.
FOLDED = {
    "Reading, and page 1 of long lists": ("reading", "paging"),
    "PostgreSQL, and what grows with deliveries": ("postgres", "growing"),
    "Expiry and reports": ("expiry", "reports"),
    "Pages of the dashboard, with a million deliveries behind them": ("pages",),
}
HEAD = ("| figure | ours | reference | ratio | wanted | |", "|---|--:|--:|--:|--:|---|")
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


def markdown(parts: Mapping[str, Sequence[Row]], notes: Sequence[str]) -> str:
    """The README's tables, of figures by name, with what they were measured on."""
    folded = {name for names in FOLDED.values() for name in names}
    lines = _lines(parts, [name for name in parts if name not in folded])
    lines += ["", " ".join([_machine(), *notes])]
    for title, names in FOLDED.items():
        if any(name in parts for name in names):
            lines += ["", f"<details><summary>{title}</summary>", ""]
            lines += [*_lines(parts, names), "", "</details>"]
    return "\n".join(lines)


def _lines(parts: Mapping[str, Sequence[Row]], names: Sequence[str]) -> list[str]:
    rows = [row for name in names for row in parts.get(name, ())]
    return [*HEAD, *(f"| {' | '.join((*_cells(row), MARKS[row.met]))} |" for row in rows)]


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
