"""Ingest with few and with many subscriptions of other repositories."""

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from store import Connection, open_store
from store.database import uuid7
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.payload import payload

FEW, MANY = 100, 100_000
ARRIVALS, SENDERS = 10_000, 32
SIZE = 2000
WANTED = 1.2


def measure(bench: Bench) -> Iterator[Row]:
    """Microseconds an event, directly into the store without HTTP."""
    prepared = {}
    for many in (FEW, MANY):
        directory = prepared[many] = bench.directory / str(many)
        store = open_store("sqlite", data_dir=directory)
        store.write_sync(world.make, subscribers=1)
        store.write_sync(_subscribe, many)
        store.shut()
    turns = bench.turns(
        "subscriptions",
        ours=partial(_cost, prepared[MANY]),
        reference=partial(_cost, prepared[FEW]),
    )
    name = f"ingest with {MANY:,} other subscriptions, of {FEW}"
    yield turns.row(name, "us", WANTED, more=False)


def _subscribe(db: Connection, many: int) -> None:
    """Insert other repositories with ten hooks and subscriptions each."""
    counted = (
        "WITH RECURSIVE row (number) AS (SELECT 0 UNION ALL"
        " SELECT number + 1 FROM row WHERE number + 1 < :many)"
    )
    repository = "2 + number / 10"
    db.execute(
        "INSERT INTO repository (id, owner_id, name, name_key, created_at, updated_at)"
        f" {counted} SELECT DISTINCT {repository}, 1, 'r' || (number / 10), 'r' || (number / 10),"
        " :now, :now FROM row",
        many=many,
        now=db.now,
    )
    db.execute(
        "INSERT INTO hook (id, repo_id, url, content_type, events, options, created_at,"
        f" updated_at) {counted} SELECT 1000 + number, {repository},"
        " 'https://receiver.example/' || number, 'json', '[\"push\"]', '{}', :now, :now FROM row",
        many=many,
        now=db.now,
    )
    db.execute(
        f"INSERT INTO subscription (repo_id, event, hook_id) {counted}"
        f" SELECT {repository}, 'push', 1000 + number FROM row",
        many=many,
    )


def _cost(directory: Path) -> float:
    return float(apart.call(cost, directory=str(directory)))


async def cost(directory: str) -> float:
    """Return the microseconds an event with one subscriber, without a worker."""
    store = open_store("sqlite", data_dir=Path(directory))
    body = payload(SIZE, 1)
    left = iter(range(ARRIVALS))

    async def send() -> None:
        for _ in left:
            arrival = IncomingEvent(1, uuid7.new(), 1, "push", body)
            await store.batch(events.accept, arrival, weight=len(body))

    started = time.perf_counter()
    await asyncio.gather(*(send() for _ in range(SENDERS)))
    seconds = time.perf_counter() - started
    await store.close()
    return seconds / ARRIVALS * 1_000_000
