"""The job that publishes once more how things are, a batch at a time and no faster than it may.

The worker does it, and not the command that asks for it: it goes on when a terminal is closed, is
done once among several workers, and is taken up again after a crash like every other job.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from store import Connection, Row, Store
from store.errors import StoreError
from store.jobs.runs import StaleRun
from store.registry import republish_runs
from store.registry.republish_runs import NextBatch

log = logging.getLogger("tocsin.worker")

SnapshotPublisher = Callable[[Connection, str, int, Sequence[Row]], None]
"""`show(db, resource, repo_id, rows)` publishes how these are, in the transaction that read them.
The composing command gives it: how it is said is the hub's."""

BATCH = 50


async def republish(store: Store, show: SnapshotPublisher) -> None:
    """Do what was asked for, then what the schedule wants, until nothing is left."""
    while True:
        begun = time.monotonic()
        run, upcoming = await store.read(_next_batch)
        if run is None:
            return
        try:
            many = await _publish_next(store, run, upcoming, show)
        except StaleRun:
            continue
        await asyncio.sleep(max(0.0, begun + many / run["rate"] - time.monotonic()))


def _next_batch(db: Connection) -> tuple[Row | None, NextBatch | None]:
    run = republish_runs.RUNS.current(db)
    return run, None if run is None else republish_runs.next_batch(db, run)


async def _publish_next(
    store: Store, run: Row, upcoming: NextBatch | None, show: SnapshotPublisher
) -> int:
    """Publish a batch, and return how many that were."""
    if upcoming is None:
        await store.write(republish_runs.finish, run, "done")
        log.info("run %d: %s: %d published again", run["id"], run["topic"], run["published"])
        return 0
    # A quarter of a second's worth: a cap that is low is kept evenly too.
    limit = max(1, min(BATCH, run["rate"] // 4))
    try:
        return await store.write(_batch, run, upcoming, limit, show)
    except StoreError:
        raise
    except Exception:
        return await _publish_one(store, run, upcoming, show)


async def _publish_one(store: Store, run: Row, upcoming: NextBatch, show: SnapshotPublisher) -> int:
    """Publish the first of several of which one cannot be, or pass over it."""
    try:
        return await store.write(_batch, run, upcoming, 1, show)
    except StoreError:
        raise
    except Exception as error:
        name = type(error).__name__
        log.error("run %d: a %s cannot be published: %s", run["id"], upcoming.kind.name, name)
        return await store.write(_batch, run, upcoming, 1, None)


def _batch(
    db: Connection, run: Row, upcoming: NextBatch, limit: int, show: SnapshotPublisher | None
) -> int:
    found, place = republish_runs.read_batch(db, run, upcoming, limit)
    published = found if show is not None else []
    many = sum(len(rows) for _, rows in published)
    # First: where another worker has the run, nothing is done that would have to be undone.
    republish_runs.advance(db, run, upcoming.kind, place, many)
    for repo_id, rows in published:
        assert show is not None
        show(db, upcoming.kind.name, repo_id, rows)
    return many


async def request_scheduled(store: Store, topics: Sequence[str], rate: int) -> None:
    """Ask for what the schedule wants published."""
    for topic in topics:
        wanted = republish_runs.parse_pattern(topic)
        counts = await store.read(republish_runs.count, wanted, None)
        await store.write(_create_run, wanted, sum(counts.values()), rate)


def _create_run(db: Connection, wanted: republish_runs.TopicPattern, total: int, rate: int) -> None:
    republish_runs.create(db, wanted, total, rate=rate, scheduled=True)
