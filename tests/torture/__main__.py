"""`python -m tests.torture [NAME ...]`: long trials of what tocsin promises."""

import asyncio
import importlib
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from tests.torture.finding import Finding, Trial

# The default rounds of each trial: kills, examples of Hypothesis, or requests.
NAMES = {"ledger": 1000, "faults": 1, "machine": 300, "guard": 20_000, "fuzz": 20_000}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*NAMES]))
@click.option(
    "--rounds", type=click.IntRange(1), help="Rounds of each trial; each has its own default."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the random choices.")
def main(names: tuple[str, ...], rounds: int | None, seed: int) -> None:
    """Run all trials, or the named ones. The exit code is 1 if a promise was broken."""
    console = Console(width=None if sys.stdout.isatty() else 140)
    findings: list[Finding] = []
    with Console(stderr=True).status("") as status:
        for name in names or NAMES:
            began = time.monotonic()
            found = run(name, rounds or NAMES[name], seed, status.update)
            findings += found
            took = time.monotonic() - began
            console.print(_table(f"{name} ({rounds or NAMES[name]:,}, {took:.0f} s)", found))
    sys.exit(any(not finding.kept for finding in findings))


def run(
    name: str, rounds: int, seed: int = 0, report: object = None, **given: Any
) -> list[Finding]:
    """Run the trial of this name, and return its findings. `given` selects its parts."""
    torture = importlib.import_module(f"tests.torture.{name}").torture
    with tempfile.TemporaryDirectory(prefix="tocsin-torture-") as directory:
        trial = Trial(Path(directory, name), rounds, seed)
        if callable(report):
            trial.report = report
        asyncio.run(torture(trial, **given))
    return trial.findings


def _table(title: str, findings: list[Finding]) -> Table:
    table = Table("what", "promised", "seen", "", title=title, title_justify="left")
    for each in findings:
        table.add_row(each.what, each.promised, each.seen, "kept" if each.kept else "BROKEN")
    return table


if __name__ == "__main__":
    main()
