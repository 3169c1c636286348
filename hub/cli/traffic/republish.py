"""`tocsin republish`: publishes the current state again, so that a receiver can rebuild lost data.

The worker does it. If no worker runs, this process does it.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator

import click
from rich.progress import MofNCompleteColumn, TimeRemainingColumn

from hub.cli.console import exits, options, output, progress
from hub.cli.console.arguments import IdType, MomentType
from hub.cli.console.exclusions import Exclusion
from hub.cli.console.grammar import noun
from hub.cli.operate import job
from hub.cli.service.configuration import Configuration, Settings
from store import Row, Store
from store.jobs import jobs as kept
from store.registry import republish_runs
from store.registry.republish_runs import TopicPattern

PAUSE = 0.2
JOB = "republish"


@noun(examples=['tocsin republish begin --topic "ada/*/events/*" --dry-run'], default="begin")
def republish() -> None:
    """Publish the current state of resources again, and watch the runs."""


@republish.command(
    examples=['tocsin republish begin --topic "ada/*/events/*" --dry-run'],
    exclusions=[Exclusion("--dry-run", ["--rate", "--no-wait"], "a dry run publishes nothing")],
)
@click.option("--topic", metavar="PATTERN", required=True,
              help="owner/repo/events/event, with * for any; or a topic's URL.")  # fmt: skip
@click.option(
    "--since", type=MomentType(), help="Only resources that changed since then, such as 2h."
)
@click.option("--rate", type=click.IntRange(1, 10_000), metavar="N",
              help="Events a second at most.  [default: the setting republish_rate]")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only count the events.")
@click.option(
    "--no-wait", is_flag=True, help="Leave it to the worker, even if none runs, and do not wait."
)
@options.as_json
@options.configured
def begin(
    configuration: Configuration,
    topic: str,
    since: int | None,
    rate: int | None,
    dry_run: bool,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Publish the current state of resources again.

    These are all resources whose events go to the topics. The events are marked as republished. The
    worker publishes them, and the command waits for the end. If no worker runs, this process
    publishes them. If the run is stopped meanwhile, the exit code is 1.
    """
    settings = configuration.settings
    wanted = republish_runs.parse_pattern(topic)
    with options.opening(settings) as store:
        counts = store.read_sync(republish_runs.count, wanted, since)
        if dry_run:
            _show(counts, wanted, as_json=as_json)
            return
        total, chosen = sum(counts.values()), rate or settings.republish_rate
        run = store.write_sync(
            lambda db: republish_runs.create(db, wanted, total, rate=chosen, since=since)
        )
        if not no_wait:
            run = _follow(settings, store, run)
        _report(run, as_json=as_json)


def _show(counts: dict[str, int], wanted: TopicPattern, *, as_json: bool) -> None:
    total = sum(counts.values())
    if as_json:
        content = {"topic": wanted.topic, "total": total, "resources": counts}
        click.echo(output.dumps(content))
        return
    rows = [{"resource": name, "many": many} for name, many in counts.items() if many]
    output.print_rows(rows, as_json=False, empty="there are no such resources")
    click.echo(f"{total} would be published to {wanted.topic}")


@republish.command("list", examples=["tocsin republish list"])
@options.limit
@options.listing_of_store
def list_runs(store: Store, limit: int, as_json: bool) -> None:
    """List the runs, newest first, with the progress of each."""
    output.print_rows(
        [_shape(row) for row in store.read_sync(republish_runs.page, limit=limit)],
        as_json=as_json,
        empty="no runs: `tocsin republish begin` starts one",
        columns=("run", "topic", "published", "total", "outcome", "created_at", "ended_at"),
    )


@republish.command(examples=["tocsin republish follow 3"])
@click.argument("run_id", metavar="RUN", type=IdType())
@options.as_json
@options.configured
def follow(configuration: Configuration, run_id: int, as_json: bool) -> None:
    """Watch the RUN with this id until it ends.

    If no worker runs, this process continues the run. If the run is stopped, the exit code is 1.
    """
    with options.opening(configuration.settings) as store:
        run = _follow(configuration.settings, store, store.read_sync(republish_runs.get, run_id))
        _report(run, as_json=as_json)


@republish.command(examples=["tocsin republish stop 3"])
@click.argument("run_id", metavar="RUN", type=IdType())
@options.with_store
def stop(store: Store, run_id: int) -> None:
    """Stop the RUN with this id."""
    run = store.write_sync(republish_runs.cancel, run_id)
    click.echo(f"run {run_id}: stopped after {run['published']} of {run['total']}")


def _shape(row: Row) -> Row:
    return {
        "run": row["id"],
        "topic": row["topic"],
        "since": output.format_time(row["since"]),
        "rate": row["rate"],
        "asked_by": "schedule" if row["scheduled"] else "command",
        "published": row["published"],
        "total": row["total"],
        "outcome": row["outcome"] or ("waiting" if row["started_at"] is None else "running"),
        "created_at": output.format_time(row["created_at"]),
        "ended_at": output.format_time(row["ended_at"]),
    }


def _report(run: Row, *, as_json: bool) -> None:
    if as_json:
        click.echo(output.dumps(_shape(run)))
    elif run["ended_at"] is None:
        click.echo(f"run {run['id']}: {run['total']} are to be published to {run['topic']}")
    else:
        click.echo(f"run {run['id']}: {run['published']} published to {run['topic']}")
    if run["outcome"] == "stopped":
        raise click.exceptions.Exit(exits.FAILED)


def _follow(settings: Settings, store: Store, run: Row) -> Row:
    try:
        with _bar(run) as progressed:
            return asyncio.run(_until_over(settings, store, run["id"], progressed))
    except KeyboardInterrupt:
        after = f"`tocsin republish follow {run['id']}` watches it, `stop` ends it"
        output.print_note(f"run {run['id']} goes on when a worker is there: {after}")
        raise click.exceptions.Exit(exits.FAILED) from None


@contextlib.contextmanager
def _bar(run: Row) -> Iterator[Callable[[Row], None]]:
    with progress.bars(MofNCompleteColumn(), TimeRemainingColumn()) as bars:
        task = bars.add_task("republishing", total=run["total"])
        yield lambda row: bars.update(task, completed=row["published"], total=row["total"])


async def _until_over(
    settings: Settings, store: Store, run_id: int, progressed: Callable[[Row], None]
) -> Row:
    here: asyncio.Task[None] | None = None
    started_at = store.clock.now()
    try:
        while (run := store.read_sync(republish_runs.get, run_id))["ended_at"] is None:
            progressed(run)
            _check(store, started_at)
            if (here is None or here.done()) and job.no_worker_runs(store):
                store.write_sync(job.ask, job.table_of(store, settings), JOB)
                here = asyncio.create_task(job.run_in_process(settings, JOB))
            await asyncio.sleep(PAUSE)
        progressed(run)
        if here is not None:
            # The run has ended, and the job only has to record its own end.
            await here
        return run
    finally:
        if here is not None and not here.done():
            here.cancel()
            await asyncio.gather(here, return_exceptions=True)


def _check(store: Store, started_at: int) -> None:
    """Raise ClickException if the job has failed since `started_at`.

    The worker tries it again later.
    """
    row = store.read_sync(kept.get, JOB)
    if row is not None and row["outcome"] == "failed" and row["started_at"] >= started_at:
        raise click.ClickException(f"it failed, and is tried again later: {row['error']}")
