"""`tocsin replay`: deliver what came in during some time once more, to those who want it now."""

from collections.abc import Callable, Iterator

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from hub.cli.console import exits, options, output, suggestions
from hub.cli.console.arguments import FullNameType, MomentType
from store import Connection, Store, clock
from store.delivery import replay_selection
from store.delivery.replay_selection import ReplaySelection

# Deliveries in one transaction, or a few more: a running daemon waits for no more than that.
BATCH = 200


@click.command()
@click.option("--since", type=MomentType(), required=True, help="Received since, such as 2h.")
@click.option("--until", type=MomentType(), help="Received before.")
@click.option("--repo", "full_name", type=FullNameType(), help="Of this repository only.")
@click.option("--hook", "hook_id", type=int, metavar="ID", help="To this hook only.",
              shell_complete=suggestions.hook_ids)  # fmt: skip
@click.option("--event", help="Of this name only.", shell_complete=suggestions.event_names)
@click.option("--failed", is_flag=True, help="Only what a hook has not got and will not get.")
@click.option("--after", default=0, metavar="EVENT", help="Go on after this event's id.")
@click.option("--dry-run", is_flag=True, help="Only say how many it would be.")
@options.with_store
def replay(
    store: Store,
    since: int,
    until: int | None,
    full_name: tuple[str, str] | None,
    hook_id: int | None,
    event: str | None,
    failed: bool,
    after: int,
    dry_run: bool,
) -> None:
    """Deliver events once more, each to the hooks that subscribe to it now."""

    def count(db: Connection) -> tuple[ReplaySelection, int, int]:
        options.check_hook(db, hook_id)
        repo_id = None if full_name is None else options.repository(db, full_name)["id"]
        chosen = ReplaySelection(since, until, repo_id, hook_id, event, failed)
        return chosen, *replay_selection.total(db, chosen)

    chosen, many, newest = store.look(count)
    click.echo(f"{many} deliveries of events since {clock.iso(since)}")
    if many and not dry_run:
        first, _ = store.look(replay_selection.id_range, chosen)
        _run(many, lambda: _batches(store, chosen, max(first, after), newest))


def _batches(
    store: Store, chosen: ReplaySelection, after: int, newest: int
) -> Iterator[tuple[int, int]]:
    """How many deliveries each batch made, and the event it ended with."""
    while True:
        made, after = store.do(replay_selection.create_deliveries, chosen, after, newest, BATCH)
        yield made, after or newest
        if not after:
            return


def _run(many: int, batches: Callable[[], Iterator[tuple[int, int]]]) -> None:
    total = after = 0
    try:
        with _progress() as progress:
            task = progress.add_task("replaying", total=many)
            for made, last in batches():
                total, after = total + made, last
                progress.update(task, completed=total)
    except KeyboardInterrupt:
        output.print_note(f"stopped after {total} of {many}; the same with --after {after} goes on")
        raise click.exceptions.Exit(exits.FAILED) from None
    click.echo(f"{total} deliveries are on their way")


def _progress() -> Progress:
    columns = "{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = output.console(error=True)
    return Progress(*columns, console=console, disable=not console.is_terminal)
