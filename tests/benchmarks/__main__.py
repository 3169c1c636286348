"""`python -m tests.benchmarks [NAME ...]`: figures beside their references and targets."""

import importlib
import signal
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console

from tests.benchmarks.harness import report
from tests.benchmarks.harness.figure import Bench, Row

# Each figure's name, with the folder of its module.
FOLDERS = {
    "ingest": "events",
    "delivery": "deliveries",
    "cores": "deliveries",
    "filters": "deliveries",
    "order": "deliveries",
    "pull": "deliveries",
    "pickup": "deliveries",
    "memory": "deliveries",
    "claim": "deliveries",
    "subscriptions": "events",
    "repetition": "events",
    "organization": "events",
    "reading": "queries",
    "paging": "queries",
    "postgres": "databases",
    "growing": "databases",
    "machines": "databases",
    "expiry": "deliveries",
    "reports": "queries",
    "isolation": "deliveries",
    "restart": "deliveries",
    "killed": "deliveries",
    "far": "deliveries",
    "pages": "queries",
    "tasks": "queries",
    "texts": "queries",
    "tls": "deliveries",
    "beside": "events",
}

# These fill a database with millions of rows first.
LONG = ("claim", "growing", "machines", "postgres")
PAGE = Path(__file__).parents[2] / "hub" / "docs" / "explanation" / "performance.md"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*FOLDERS]))
@click.option(
    "--rounds", default=5, show_default=True, type=click.IntRange(1), help="Rounds of each figure."
)
@click.option("--quick", is_flag=True, help="One round of each figure, without the long ones.")
@click.option("--markdown", is_flag=True, help="Print the manual's tables.")
@click.option("--write", is_flag=True, help="Write all figures into the manual's tables.")
def main(names: tuple[str, ...], rounds: int, quick: bool, markdown: bool, write: bool) -> None:
    """Measure all figures, or the named ones."""
    # So that the end of this process ends the daemons that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if write and (names or quick):
        raise click.UsageError("--write writes all figures, of full rounds")
    if quick:
        rounds, names = 1, names or tuple(name for name in FOLDERS if name not in LONG)
    shown = Console(width=None if sys.stdout.isatty() else 140)
    parts: dict[str, list[Row]] = {}
    failed = False
    with (
        Console(stderr=True).status("") as status,
        tempfile.TemporaryDirectory(prefix="tocsin-bench-") as directory,
    ):
        bench = Bench(rounds, Path(directory), status.update)
        for name in names or FOLDERS:
            measure = importlib.import_module(f"tests.benchmarks.{FOLDERS[name]}.{name}").measure
            bench.directory = Path(directory, name)
            bench.directory.mkdir()
            try:
                parts.setdefault(name, []).extend(measure(bench))
            except Exception as error:
                # The results of the other figures are still reported.
                bench.notes.append(f"{name} could not be measured: {error}.")
                failed = True
    if bench.receiver:
        bench.notes.append(f"The receiver was {bench.receiver}.")
    bench.notes.insert(0, f"Medians of {rounds} rounds; ratios are medians of the rounds' ratios.")
    if write:
        report.write(PAGE, report.markdown(parts, bench.notes))
    elif markdown:
        print(report.markdown(parts, bench.notes))
    else:
        shown.print(report.table([row for rows in parts.values() for row in rows]))
        for note in bench.notes:
            shown.print(note)
    sys.exit(failed)


if __name__ == "__main__":
    main()
