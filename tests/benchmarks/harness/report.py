"""The table of figures, for the terminal and for the manual."""

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table

from tests.benchmarks.harness.figure import Row

BEGIN, END = "\n## Figures\n", "\n## "
# Figures by name that have a section of their own in the manual; the others come first.
SECTIONS = {
    "Reading, and page 1 of long lists": ("reading", "paging"),
    "PostgreSQL, and what grows with deliveries": ("postgres", "growing"),
    "Expiry and reports": ("expiry", "reports"),
    "Pages of the dashboard, with a million deliveries behind them": ("pages",),
    "Tasks in a browser, with 300,000 deliveries behind them": ("tasks",),
}
HEAD = ("| figure | ours | reference | ratio | target | |", "|---|--:|--:|--:|--:|---|")
MARKS = {True: "met", False: "missed", None: ""}


def table(rows: Sequence[Row]) -> Table:
    """The figures as a table for the terminal."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    made.add_column("figure", no_wrap=True)
    for name in ("ours", "reference", "ratio", "target"):
        made.add_column(name, justify="right")
    made.add_column("")
    for row in rows:
        style = "red" if row.met is False else None
        made.add_row(*_cells(row), MARKS[row.met], style=style)
    return made


def markdown(parts: Mapping[str, Sequence[Row]], notes: Sequence[str]) -> str:
    """Return the manual's tables of the figures, with a description of the machine."""
    apart = {name for names in SECTIONS.values() for name in names}
    lines = _lines(parts, [name for name in parts if name not in apart])
    lines += ["", " ".join([_machine(), *notes])]
    for title, names in SECTIONS.items():
        if any(name in parts for name in names):
            lines += ["", f"### {title}", "", *_lines(parts, names)]
    return "\n".join(lines)


def _lines(parts: Mapping[str, Sequence[Row]], names: Sequence[str]) -> list[str]:
    rows = [row for name in names for row in parts.get(name, ())]
    return [*HEAD, *(f"| {' | '.join((*_cells(row), MARKS[row.met]))} |" for row in rows)]


def write(page: Path, text: str) -> None:
    """Replace the tables in the page's section of figures.

    Raises ValueError if there is no such section, or no section after it.
    """
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{page} has no section {BEGIN.strip()!r} with another one after it")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


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
