"""The job that publishes the present state again, in batches and at a limited rate.

The worker runs it, not the command that requests it. So a run continues when the terminal is
closed, runs once among several workers, and continues after a crash like every other job.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from store import Connection, Row, Store
from store.errors import Busy, Unavailable
from store.jobs.runs import StaleRun
from store.registry import republish_runs
from store.registry.republish_runs import NextBatch
from worker.jobs.pauses import Sleep

log = logging.getLogger("tocsin.worker")

SnapshotPublisher = Callable[[Connection, str, int, Sequence[Row]], None]
"""`publish(db, resource, repo_id, rows)` emits snapshots of the rows, in the transaction that read
them.

The hub provides it, because the hub knows how events are serialized.
"""

BATCH = 50


async def republish(
    store: Store,
    publish: SnapshotPublisher,
    *,
    batch: int = BATCH,
    clock: Callable[[], float] = time.monotonic,
    sleep: Sleep = asyncio.sleep,
) -> None:
    """Finish all runs: requested ones first, then scheduled ones."""
    while True:
        started = clock()
        run, upcoming = await store.read(_next_batch)
        if run is None:
            return
        try:
            many = await _publish_next(store, run, upcoming, publish, batch)
        except StaleRun:
            continue
        await sleep(max(0.0, started + many / run["rate"] - clock()))


def _next_batch(db: Connection) -> tuple[Row | None, NextBatch | None]:
    run = republish_runs.RUNS.current(db)
    return run, None if run is None else republish_runs.next_batch(db, run)


async def _publish_next(
    store: Store, run: Row, upcoming: NextBatch | None, publish: SnapshotPublisher, batch: int
) -> int:
    """Publish a batch. Return how many rows it had."""
    if upcoming is None:
        await store.write(republish_runs.finish, run, "done")
        log.info("run %d: %s: %d published again", run["id"], run["topic"], run["published"])
        return 0
    # A batch has the rows of a quarter of a second, so that a low rate is even, too.
    limit = max(1, min(batch, run["rate"] // 4))
    try:
        return await store.write(publish_batch, run, upcoming, limit, publish)
    except (StaleRun, Busy, Unavailable):
        raise
    except Exception:
        return await _publish_one(store, run, upcoming, publish)


async def _publish_one(
    store: Store, run: Row, upcoming: NextBatch, publish: SnapshotPublisher
) -> int:
    """Publish the first of several rows, one of which failed. If the first one fails, skip it."""
    try:
        return await store.write(publish_batch, run, upcoming, 1, publish)
    except (StaleRun, Busy, Unavailable):
        raise
    except Exception as error:
        name = type(error).__name__
        log.error("run %d: a %s cannot be published: %s", run["id"], upcoming.kind.name, name)
        return await store.write(publish_batch, run, upcoming, 1, None)


def publish_batch(
    db: Connection, run: Row, upcoming: NextBatch, limit: int, publish: SnapshotPublisher | None
) -> int:
    """Publish up to `limit` rows and advance the run. Return how many were published.

    If `publish` is None, the rows are skipped. Raises StaleRun if another worker has advanced the
    run.
    """
    found, place = republish_runs.read_batch(db, run, upcoming, limit)
    published = found if publish is not None else []
    many = sum(len(rows) for _, rows in published)
    # This comes first: if another worker has advanced the run, there is nothing to undo.
    republish_runs.advance(db, run, upcoming.kind, place, many)
    for repo_id, rows in published:
        assert publish is not None
        publish(db, upcoming.kind.name, repo_id, rows)
    return many


async def request_scheduled(store: Store, topics: Sequence[str], rate: int) -> None:
    """Create the runs that the schedule asks for."""
    for topic in topics:
        wanted = republish_runs.parse_pattern(topic)
        counts = await store.read(republish_runs.count, wanted, None)
        await store.write(_create_run, wanted, sum(counts.values()), rate)


def _create_run(db: Connection, wanted: republish_runs.TopicPattern, total: int, rate: int) -> None:
    republish_runs.create(db, wanted, total, rate=rate, scheduled=True)
