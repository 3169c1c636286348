"""What the worker does at its time, in one table."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from store import Store, jobs
from store.clock import SECOND
from store.errors import StoreError
from store.measures import Tally

JITTER = 0.1

log = logging.getLogger("tocsin.worker")


@dataclass(frozen=True, slots=True)
class Job:
    """Something to be done every so many seconds; `once` of all workers, or by each."""

    name: str
    every: float
    run: Callable[[], Awaitable[None]]
    once: bool = False


def counted(job: Job, runs: Tally) -> Job:
    """The job, with each of its runs counted as done or failed."""

    async def run() -> None:
        try:
            await job.run()
        except Exception:
            runs.add(job.name, "failed")
            raise
        runs.add(job.name, "done")

    return replace(job, run=run)


def scheduler(store: Store, table: list[Job]) -> AsyncIOScheduler:
    """An APScheduler with these jobs: one run of each at a time, missed ones made up by one."""
    made = AsyncIOScheduler(timezone="UTC")
    for job in table:
        made.add_job(
            _quietly,
            # Workers that were started together do not all come at the same moment for ever.
            IntervalTrigger(seconds=job.every, jitter=job.every * JITTER, timezone="UTC"),
            args=[run_once if job.once else run, store, job],
            id=job.name,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
        )
    return made


async def _quietly(how: Callable[[Store, Job], Awaitable[None]], store: Store, job: Job) -> None:
    # The scheduler cancels what runs when it is shut down, and would log that as a failure.
    with contextlib.suppress(asyncio.CancelledError):
        await how(store, job)


async def run(store: Store, job: Job) -> None:
    """Run a job that each worker does for itself."""
    try:
        await job.run()
    except StoreError as error:
        log.error("job %s: %s", job.name, error)


async def run_once(store: Store, job: Job) -> None:
    """Run a job if it is due and no other worker has it, and record how that ended."""
    # Due a little before it is looked at again: a look that comes a moment early must not be for
    # nothing, and the job done half as often as it should.
    every = round(job.every * (1 - 2 * JITTER) * SECOND)
    try:
        if not await store.write(jobs.begin, job.name, every):
            return
        try:
            await job.run()
        except StoreError as error:
            log.error("job %s: %s", job.name, error)
            await store.write(jobs.end, job.name, str(error))
        else:
            await store.write(jobs.end, job.name, "done")
    except StoreError as error:
        log.error("job %s cannot be recorded: %s", job.name, error)
