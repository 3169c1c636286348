"""`tocsin job`: scheduled jobs, their last runs, and running one now."""

import asyncio
import os
import socket
import time

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.grammar import noun
from hub.cli.http_server.event_loop import new_asyncio_loop
from hub.cli.service.configuration import Configuration, Settings
from hub.cli.service.hub_callbacks import HubCallbacks
from store import Connection, Row, Store
from store.clock import SECOND
from store.delivery import leases
from store.errors import Missing
from store.jobs import jobs as kept
from worker.job_table import JobContext, build_jobs
from worker.scheduler.job_records import ScheduledJob, list_records, save_records
from worker.scheduler.job_runner import run_job
from worker.scheduler.outages import discount_outage

PAUSE = 0.05


@noun(examples=["tocsin job list", "tocsin job run prune"])
def job() -> None:
    """List scheduled jobs, or run one now."""


@job.command("list", examples=["tocsin job list"])
@options.listing
@options.configured
def list_jobs(configuration: Configuration, as_json: bool) -> None:
    """List the jobs with their last and next runs."""
    output.print_rows(
        _rows(configuration.settings),
        as_json=as_json,
        empty="no jobs",
        columns=("name", "schedule", "last_run_at", "outcome", "next_run_at", "error"),
    )


@job.command(examples=["tocsin job show prune"])
@click.argument("name", shell_complete=suggestions.job_names)
@options.listing
@options.configured
def show(configuration: Configuration, name: str, as_json: bool) -> None:
    """Show the job NAME with its last and next runs."""
    rows = {row["name"]: row for row in _rows(configuration.settings)}
    found = lookups.known(rows.get(name), f"job {name!r}", "job list")
    output.print_record(found, as_json=as_json)


def _rows(settings: Settings) -> list[Row]:
    with options.opening(settings) as store:
        entries = store.read_sync(list_records, table_of(store, settings))
        now = store.clock.now()
    return [_shape(entry.row, now) for entry in entries]


def table_of(store: Store, settings: Settings) -> list[ScheduledJob]:
    """Return all scheduled jobs with these settings."""
    calls = HubCallbacks(settings)
    return build_jobs(JobContext(store, settings, calls.emit, calls.publish, calls.compose))


def _shape(row: Row, now: int) -> Row:
    took = kept.duration(row)
    return {
        "name": row["name"],
        "schedule": row["schedule"],
        "last_run_at": output.format_time(row["started_at"]),
        "outcome": kept.outcome_of(row, now),
        "seconds": None if took is None else took / SECOND,
        "error": row["error"],
        "failures": row["failures"],
        "next_run_at": output.format_time(kept.ready_at(row, now)),
    }


@job.command(examples=["tocsin job run prune"])
@click.argument("name", shell_complete=suggestions.job_names)
@options.configured
def run(configuration: Configuration, name: str) -> None:
    """Run the job NAME now, and wait for its end.

    The running worker does it. If there is none, this process does it. If the job fails, the exit
    code is 1.
    """
    with options.opening(configuration.settings) as store:
        row = run_now(store, configuration.settings, name)
    if row["outcome"] == "failed":
        raise click.ClickException(f"{name} failed: {row['error']}")
    click.echo(f"{name}: done in {(kept.duration(row) or 0) / SECOND:.2f} s")


def run_now(store: Store, settings: Settings, name: str) -> Row:
    """Have a job run, by the worker or else by this process. Return its record after its end.

    Raises Missing for an unknown name.
    """
    known = {one.name: one for one in table_of(store, settings)}
    if name not in known:
        raise Missing(f"there is no job {name!r}; the jobs are {', '.join(sorted(known))}")
    asked_at = store.write_sync(ask, list(known.values()), name)
    while not _is_over(row := store.read_sync(kept.get, name), asked_at):
        if no_worker_runs(store):
            with asyncio.Runner(loop_factory=new_asyncio_loop) as runner:
                runner.run(run_in_process(settings, name))
        time.sleep(PAUSE)
    assert row is not None, "it was planned"
    return row


def ask(db: Connection, jobs: list[ScheduledJob], name: str) -> int:
    """Request a run of a job now. Return the time of the request, in microseconds."""
    save_records(db, jobs)
    kept.request_run(db, name)
    return db.now


def _is_over(row: Row | None, asked_at: int) -> bool:
    """Return whether the job was started after the request, and has ended."""
    if row is None or row["outcome"] not in ("done", "failed"):
        return False
    return bool(row["started_at"] >= asked_at)


def no_worker_runs(store: Store) -> bool:
    """Return whether no worker runs.

    If the database allows one worker only, and none runs, this process becomes it.
    """
    if store.engine.single_worker:
        return store.engine.acquire_worker_lock()
    return not store.read_sync(leases.live)


async def run_in_process(settings: Settings, name: str) -> None:
    """Run a job in this process, if it is due or requested."""
    store = options.opened(settings, create=False)
    try:
        # The end of this run would hide the outage.
        await store.write_relaxed(discount_outage)
        if store.engine.single_worker:
            await store.write(kept.release_all)
        (wanted,) = [one for one in table_of(store, settings) if one.name == name]
        await run_job(store, wanted, f"{socket.gethostname()}:{os.getpid()}")
    finally:
        await store.close()
