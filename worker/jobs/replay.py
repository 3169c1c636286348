"""The job that delivers events again, in batches and at a limited rate.

The worker runs it, not the page that requests it. So a replay continues when the browser is closed,
runs once among several workers, and continues after a crash like every other job.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from store import Row, Store
from store.delivery.replays import replay_runs
from store.errors import Busy, Unavailable
from store.jobs.runs import StaleRun
from worker.jobs.pauses import Sleep
from worker.settings import WorkerSettings

log = logging.getLogger("tocsin.worker")

# Deliveries in one transaction, approximately.
BATCH = 200
# Seconds between two batches, so that other writers get their turn.
PAUSE = 0.005
# Seconds of delay that later batches may catch up on.
AHEAD = 1.0
# A replay fails if one of its steps has failed this often. Otherwise it would block all others.
TRIES = 3


async def replay(
    store: Store,
    settings: WorkerSettings,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Sleep = asyncio.sleep,
) -> None:
    """Run all replays in turns, until none is left."""
    limit = max(1, min(BATCH, round(settings.replay_rate / 4)))
    ready_at = clock()
    while (run := await store.read(replay_runs.RUNS.current)) is not None:
        try:
            after, made = await _step(store, run, limit, sleep)
        except StaleRun:
            continue
        if after["ended_at"] is not None:
            log.info("replay %d: %d deliveries", after["id"], after["made"])
        ready_at = max(ready_at, clock() - AHEAD) + made / settings.replay_rate
        await sleep(max(PAUSE, ready_at - clock()))


async def _step(store: Store, run: Row, limit: int, sleep: Sleep) -> tuple[Row, int]:
    """Make a step of a replay. If that fails for good, the replay ends as failed.

    Raises StaleRun as `replay_runs.run_step` does, and if the replay has failed.
    """
    for tries in range(1, TRIES + 1):
        try:
            return await store.write(replay_runs.run_step, run, limit)
        except (StaleRun, Busy, Unavailable):
            raise
        except Exception:
            log.exception("replay %d: a step failed, %d of %d times", run["id"], tries, TRIES)
            if tries < TRIES:  # all other replays wait meanwhile
                await sleep(tries)
    await store.write(replay_runs.RUNS.fail, run["id"])
    raise StaleRun(f"replay {run['id']} has failed")
