"""`tocsin migrate`: a move from SQLite to PostgreSQL, while the daemon runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import click
from rich.progress import MofNCompleteColumn, Progress, TaskID

from hub.cli.console import exits, options, output, progress
from hub.cli.console.exclusions import Exclusion
from hub.cli.console.grammar import command
from hub.cli.operate.backup import key_path
from hub.cli.service.configuration import Configuration, Settings
from store.pg_migration.pg_migration import Mover, TableCheck, mover

T = TypeVar("T")
# Seconds between two checks whether the worker has ended.
LOOK_EVERY = 0.5


@command(
    examples=[
        "tocsin migrate --to postgresql://hub@db.example/tocsin",
        "tocsin migrate --to postgresql://hub@db.example/tocsin --switch",
    ],
    exclusions=[
        Exclusion("--switch", ["--abandon"], "one finishes the move, the other gives it up")
    ],
)
@click.option(
    "--to", "target", required=True, metavar="URL", help="The target database: postgresql://..."
)
@click.option("--switch", is_flag=True, help="Finish the move once the worker has ended.")
@click.option("--abandon", is_flag=True, help="Give up an unfinished move.")
@options.configured
def migrate(configuration: Configuration, target: str, switch: bool, abandon: bool) -> None:
    """Move an installation from SQLite to PostgreSQL while it runs.

    The command copies all data and the changes that are made meanwhile, and compares every row. The
    target must be empty, or hold the data of an interrupted run, which then continues. The daemon
    is not disturbed, and keeps using SQLite.

    With --switch, the command then waits until the worker is stopped. It closes the SQLite database
    for good, and hubs that still use it answer 503. It copies and compares the rest. Then start
    hubs and workers on PostgreSQL, with the same key file.
    """
    settings = configuration.settings
    with mover(
        settings.store, target, data_dir=settings.data_dir, key_file=settings.key_file
    ) as moving:
        if (switch or abandon) and not moving.closed:
            _record(settings)
        if abandon:
            moving.abandon()
            click.echo("the move is given up; you can drop the data in the target")
            return
        with _resumable():
            _move(moving, settings, switch)


def _record(settings: Settings) -> None:
    """Record the command in the audit log of SQLite, which moves with all other data."""
    with options.opening(settings) as store:
        store.write_sync(lambda db: None)


@contextmanager
def _resumable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        output.print_note("stopped; the same command goes on")
        raise click.exceptions.Exit(exits.FAILED) from None


def _move(moving: Mover, settings: Settings, switch: bool) -> None:
    moving.begin()
    if not moving.closed:
        _show(_with_bars(moving, lambda: _copied(moving)))
    if not switch:
        click.echo(f"{moving.shown} has all data; the daemon still uses {moving.path}")
        click.echo("next: the same with --switch finishes the move, --abandon gives it up")
        return
    _wait(moving)
    switched = _with_bars(moving, moving.switch)
    _show(switched.compared)
    _say_what_is_next(moving, settings, switched.pause)


def _copied(moving: Mover) -> list[TableCheck]:
    moving.catch_up()
    compared = moving.compare()
    moving.catch_up()
    return compared


def _wait(moving: Mover) -> None:
    if moving.alone():
        return
    output.print_note(
        "stop the worker (`tocsin serve`): the switch follows at once; Ctrl-C postpones it"
    )
    while not moving.alone():
        time.sleep(LOOK_EVERY)
        moving.catch_up()


def _show(compared: list[TableCheck]) -> None:
    rows = [
        {"table": each.table, "rows": each.rows, "checksum": each.checksum} for each in compared
    ]
    output.print_rows(rows, as_json=False, empty="no tables")


def _say_what_is_next(moving: Mover, settings: Settings, pause: float) -> None:
    key_file = key_path(settings)
    click.echo(f"moved to {moving.shown}; nothing could be written for {pause:.1f} s")
    click.echo("next: set `store` to it for every hub and worker, and start them")
    click.echo(f"each of them needs the key file {key_file}, which decrypts stored secrets")
    click.echo(f"{moving.path} cannot be used any more; hubs that still run on it answer 503")


@dataclass
class ProgressBars:
    """The progress bars of the tables that are being copied or compared."""

    progress: Progress
    tasks: dict[tuple[str, str], TaskID] = field(default_factory=dict)

    def on_progress(self, stage: str, table: str, done: int, total: int) -> None:
        """Move a table's bar, as a `TableProgress` of the store."""
        task = self.tasks.get((stage, table))
        if task is None:
            task = self.tasks[stage, table] = self.progress.add_task(f"{stage} {table}")
        self.progress.update(task, completed=done, total=total)


def _with_bars(moving: Mover, work: Callable[[], T]) -> T:
    with progress.bars(MofNCompleteColumn()) as bars:
        moving.on_progress = ProgressBars(bars).on_progress
        return work()
