"""`tocsin sql`: read-only SQL for operators."""

import csv
import sys

import click

from hub.cli.console import options, output
from hub.cli.console.arguments import WordType
from hub.cli.console.exclusions import Exclusion
from hub.cli.console.grammar import command
from hub.cli.console.interactive import stop_signals
from store import Store
from store.database import shell


@command(
    examples=[
        'tocsin sql "SELECT name, count(*) FROM event GROUP BY name"',
        'tocsin sql ".schema hook"',
        'tocsin sql ".indexes delivery"',
    ],
    exclusions=[Exclusion("--csv", ["--json"], "choose one form")],
)
@click.argument("statement", type=WordType())
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    show_default=True,
    help="Show at most this many rows.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@options.as_json
@options.with_store
def sql(store: Store, statement: str, limit: int, as_csv: bool, as_json: bool) -> None:
    """Run a read-only STATEMENT, or describe the database.

    The command is for SQLite only. `.tables`, `.schema`, `.columns`, `.indexes` and `.references`
    describe all tables, or the table that you name. Secrets and hashes read as NULL, so a FULL or
    RIGHT JOIN needs ON. `text(body)` is an event's body as text.
    """
    # A KeyboardInterrupt would be lost, and the statement would go on, if Python raised it in a
    # finalizer.
    with stop_signals() as stopped:
        columns, rows = shell.query(store, statement, limit + 1, stopped)
    if stopped():
        raise KeyboardInterrupt
    described = statement.lstrip().startswith(".")
    if as_csv:
        writer = csv.writer(sys.stdout)
        writer.writerows(map(_cell, row) for row in (columns, *rows[:limit]))
    elif described and len(columns) == 1 and not as_json:
        for row in rows[:limit]:
            click.echo(row[0])
    else:
        found = [dict(zip(columns, map(_plain, row), strict=True)) for row in rows[:limit]]
        output.print_rows(found, as_json=as_json, empty="no rows")
    if len(rows) > limit:
        output.print_note(f"only the first {limit} rows: --limit shows more")


def _plain(value: object) -> object:
    return f"x'{value.hex()}'" if isinstance(value, bytes) else value


def _cell(value: object) -> object:
    """Return a value for CSV. Only a program gets its control characters."""
    made = _plain(value)
    return output.printable(made) if isinstance(made, str) and output.is_terminal() else made
