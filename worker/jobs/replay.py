"""The job that delivers once more what was asked for, a batch at a time and no faster than it may.

The worker does it, and not the page that asks for it: it goes on when a browser is closed, is done
once among several workers, and is taken up again after a crash like every other job.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from store import Store
from store.delivery import replay_runs
from store.jobs.runs import StaleRun
from worker.settings import WorkerSettings

log = logging.getLogger("tocsin.worker")

# Deliveries in one transaction, or a few more.
BATCH = 200
# Between batches others get their turn at the writer.
PAUSE = 0.005
# Seconds that a batch may make up for, of those in which nothing could be made.
AHEAD = 1.0


async def replay(
    store: Store,
    settings: WorkerSettings,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Work on all runs in turns, until none is left."""
    limit = max(1, min(BATCH, round(settings.replay_rate / 4)))
    ready_at = clock()
    while (run := await store.read(replay_runs.RUNS.current)) is not None:
        try:
            after, made = await store.write(replay_runs.run_step, run, limit)
        except StaleRun:
            continue
        if after["ended_at"] is not None:
            log.info("replay %d: %d deliveries", after["id"], after["made"])
        ready_at = max(ready_at, clock() - AHEAD) + made / settings.replay_rate
        await sleep(max(PAUSE, ready_at - clock()))
