"""Periodic tasks of each worker.

They follow the event loop's clock, which is never set back.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from store.database.metrics import CounterMetric
from store.errors import StoreError

JITTER = 0.1
AsyncJob = Callable[[], Awaitable[None]]

log = logging.getLogger("tocsin.worker")


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """A task that each worker runs for itself. `every` is its interval in seconds."""

    name: str
    every: float
    run: AsyncJob


def count_runs(name: str, run: AsyncJob, runs: CounterMetric) -> AsyncJob:
    """Return the same function with its runs counted as done or failed."""

    async def counting() -> None:
        try:
            await run()
        except Exception:
            runs.add(name, "failed")
            raise
        runs.add(name, "done")

    return counting


async def run_once(task: PeriodicTask) -> None:
    """Run a task once.

    An error of the store is logged, because the next run tries again.
    """
    try:
        await task.run()
    except StoreError as error:
        log.error("%s: %s", task.name, error)


async def _run_forever(task: PeriodicTask) -> None:
    while True:
        # Workers that started together must not stay in step.
        share = random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spreads load, keeps no secret
        await asyncio.sleep(task.every * share)
        try:
            await run_once(task)
        except Exception:
            log.exception("%s", task.name)


class PeriodicRunner:
    """A runner of periodic tasks, from `start` to `stop`. Runs of one task never overlap."""

    def __init__(self) -> None:
        self._running: list[asyncio.Task[None]] = []

    def start(self, tasks: Sequence[PeriodicTask]) -> None:
        """Start the tasks. The first run follows the first pause."""
        loop = asyncio.get_running_loop()
        self._running += [loop.create_task(_run_forever(task), name=task.name) for task in tasks]

    def stop(self) -> None:
        for task in self._running:
            task.cancel()
