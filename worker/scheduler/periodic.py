"""What each worker does every few seconds, by the event loop's clock: nobody puts that one back."""

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
    """Something that each worker does for itself every so many seconds."""

    name: str
    every: float
    run: AsyncJob


def count_runs(name: str, run: AsyncJob, runs: CounterMetric) -> AsyncJob:
    """The same, with each time counted as done or failed."""

    async def counting() -> None:
        try:
            await run()
        except Exception:
            runs.add(name, "failed")
            raise
        runs.add(name, "done")

    return counting


async def run_once(beat: PeriodicTask) -> None:
    """Do it once. What the store cannot do now is done the next time."""
    try:
        await beat.run()
    except StoreError as error:
        log.error("%s: %s", beat.name, error)


async def _run_forever(beat: PeriodicTask) -> None:
    while True:
        # Workers that were started together do not all come at the same moment for ever.
        share = random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spreads load, keeps no secret
        await asyncio.sleep(beat.every * share)
        try:
            await run_once(beat)
        except Exception:
            log.exception("%s", beat.name)


class PeriodicRunner:
    """Keeps some of these going, from `start` to `stop`; a run of each at a time."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, beats: Sequence[PeriodicTask]) -> None:
        """Begin, with the pause."""
        loop = asyncio.get_running_loop()
        self._tasks += [loop.create_task(_run_forever(beat), name=beat.name) for beat in beats]

    @property
    def names(self) -> list[str]:
        """What is kept going."""
        return [task.get_name() for task in self._tasks]

    def stop(self) -> None:
        """Begin nothing more, and cut off what is under way."""
        for task in self._tasks:
            task.cancel()
