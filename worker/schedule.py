"""What the worker does at its time, in one table."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from store.errors import StoreError

log = logging.getLogger("tocsin.worker")


@dataclass(frozen=True, slots=True)
class Job:
    """Something to be done every so many seconds."""

    name: str
    every: float
    run: Callable[[], Awaitable[None]]


def scheduler(jobs: list[Job]) -> AsyncIOScheduler:
    """An APScheduler with these jobs: one run of each at a time, missed ones made up by one."""
    made = AsyncIOScheduler(timezone="UTC")
    for job in jobs:
        made.add_job(
            _guarded,
            IntervalTrigger(seconds=job.every, timezone="UTC"),
            args=[job],
            id=job.name,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
        )
    return made


async def _guarded(job: Job) -> None:
    try:
        await job.run()
    except StoreError as error:
        log.error("job %s: %s", job.name, error)
