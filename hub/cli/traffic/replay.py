"""`tocsin replay`: delivers past events again, to the hooks that subscribe to them now."""

from collections.abc import Iterator

import click
from rich.progress import MofNCompleteColumn, TimeRemainingColumn

from hub.cli.console import exits, lookups, options, output, progress, suggestions
from hub.cli.console.arguments import FullNameType, IdType, MomentType, WordType
from hub.cli.console.exclusions import Exclusion
from hub.cli.console.grammar import command
from hub.cli.console.interactive import stop_signals
from hub.ui.formatting import pluralize
from store import Connection, Store, clock
from store.delivery.replays import replay_deliveries, replay_selection
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import StoreError

# The deliveries that one transaction creates, approximately. A running daemon waits for one
# transaction at most.
BATCH = 200


@command(
    examples=[
        "tocsin replay --since 12h --dry-run",
        "tocsin replay --since 12h --repo ada/bell-tower --failed",
        "tocsin replay --since 4h --until 2h --host ci.example --failed",
    ],
    exclusions=[Exclusion("--host", ["--hook"], "a hook has one host")],
)
@click.option(
    "--since", type=MomentType(), required=True, help="Only events received since then, such as 2h."
)
@click.option("--until", type=MomentType(), help="Only events received before.")
@click.option("--repo", "full_name", type=FullNameType(), help="Only this repository.")
@click.option("--hook", "hook_id", type=IdType(), metavar="ID", help="Only to this hook.",
              shell_complete=suggestions.hook_ids)  # fmt: skip
@click.option("--host", type=WordType(), help="Only to hooks at this host, or host:port.")
@click.option(
    "--event",
    help="Only events of this name, such as issues or issues.opened.",
    shell_complete=suggestions.event_names,
)
@click.option(
    "--failed",
    is_flag=True,
    help="Leave out events that the hook got, that its filter left out, or that still wait.",
)
@click.option(
    "--after",
    type=IdType(),
    default=0,
    metavar="EVENT",
    help="Continue after the event with this id, which an interrupted run has printed.",
)
@click.option("--dry-run", is_flag=True, help="Only count the deliveries.")
@options.with_store
def replay(
    store: Store,
    since: int,
    until: int | None,
    full_name: tuple[str, str] | None,
    hook_id: int | None,
    host: str | None,
    event: str | None,
    failed: bool,
    after: int,
    dry_run: bool,
) -> None:
    """Deliver past events again, each to the hooks that subscribe to it now.

    Pings, reports of deleted hooks, and events whose payloads are no longer kept are left out.
    """
    if until is not None and until <= since:
        raise click.UsageError("--until is not after --since: there can be no such events")

    _check_event(event)

    def count(db: Connection) -> tuple[ReplaySelection, int, int]:
        lookups.check_hook(db, hook_id)
        repo_id = lookups.repository_id(db, full_name)
        hook_ids = lookups.hooks_of_host(db, host)
        chosen = ReplaySelection(since, until, repo_id, hook_id, event, failed, hook_ids)
        return chosen, *replay_selection.total(db, chosen, after)

    chosen, many, newest = store.read_sync(count)
    named = pluralize(many, "delivery", "deliveries")
    click.echo(f"{named} of events since {clock.iso(since)}")
    if many and not dry_run:
        first = max(store.read_sync(replay_selection.id_range, chosen)[0], after)
        _run(many, first, newest, _batches(store, chosen, first, newest))


def _check_event(event: str | None) -> None:
    if event is None:
        return
    name, dot, action = event.partition(".")
    if not name or (dot and not action):
        raise click.UsageError(f"{event!r} is no event: write issues, or issues.opened")
    if name == "ping":
        raise click.UsageError("pings are not replayed: `tocsin hook ping` sends a new one")


def _batches(
    store: Store, chosen: ReplaySelection, after: int, newest: int
) -> Iterator[tuple[int, int]]:
    """Yield the number of deliveries of each batch, and the id of its last event."""
    while True:
        made, after = store.write_sync(replay_deliveries.create, chosen, after, newest, BATCH)
        yield made, after or newest
        if not after:
            return


def _run(many: int, after: int, newest: int, batches: Iterator[tuple[int, int]]) -> None:
    """Make the batches, up to the event `newest`. If not all are made, print how to go on.

    A signal waits for the end of its batch: at a commit, nobody could say whether it was made.
    """
    total, columns = 0, (MofNCompleteColumn(), TimeRemainingColumn())
    try:
        with stop_signals() as is_stopped, progress.bars(*columns) as bars:
            task = bars.add_task("replaying", total=many)
            for made, after in batches:
                total += made
                bars.update(task, completed=total)
                if is_stopped() and after < newest:
                    raise click.exceptions.Exit(exits.FAILED)
    except (StoreError, click.exceptions.Exit):
        output.print_note(f"stopped after {total} of {many}; the same with --after {after} goes on")
        raise
    named = pluralize(total, "delivery", "deliveries")
    click.echo(f"{named} {'is on its' if total == 1 else 'are on their'} way")
