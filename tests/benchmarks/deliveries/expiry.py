"""Thousands of things end in one second: how long the worker needs to remove and report them."""

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hub.settings import HubSettings
from hub.worker_events import WorkerEvents
from store import Connection, Store, open_store
from store.accounts import accounts, tokens
from store.clock import DAY, SECOND, MovableClock
from store.repositories import interaction_limits, invitations, repositories
from tests.benchmarks.harness.figure import Bench, Row
from worker.jobs.expire import expire

MANY = 10_000
WANTED = 1.0

Make = Callable[[Connection, int, int], None]


def measure(bench: Bench) -> Iterator[Row]:
    """Seconds to expire 10,000 rows on disk, with a transaction a batch and an event each."""
    for name, make in (("limits", _limits), ("invitations", _invitations), ("tokens", _tokens)):
        bench.directory.joinpath(name).mkdir()
        rounds = []
        for number in range(bench.rounds):
            bench.said(f"expiry: {name}, round {number + 1} of {bench.rounds}")
            rounds.append(_round(bench.directory / name / str(number), make))
        took, worked, longest = (statistics.median(column) for column in zip(*rounds, strict=True))
        figure = f"{MANY:,} {name} that end in the same second"
        yield Row(figure, "s", took, wanted=WANTED, more=False, absolute=True)
        yield Row("of that, at work", "s", worked)
        yield Row("the longest transaction", "ms", 1000 * longest)


def _round(directory: Path, make: Make) -> tuple[float, float, float]:
    clock = MovableClock()
    store = open_store("sqlite", data_dir=directory, clock=clock)
    owner = store.write_sync(accounts.create, "ada")
    for first in range(0, MANY, 1000):
        store.write_sync(make, owner["id"], first)
    clock.advance(2 * DAY / SECOND)
    return asyncio.run(_expire(store))


async def _expire(store: Store) -> tuple[float, float, float]:
    batches: list[float] = []
    write = store.write

    async def timed(function: Callable[..., int], *given: object) -> int:
        def batch(db: Connection) -> int:
            started = time.perf_counter()
            try:
                return function(db, *given)
            finally:
                batches.append(time.perf_counter() - started)

        return await write(batch)

    reporting = WorkerEvents(HubSettings(base_url="https://forge.example/api/v3"))
    store.write = timed  # type: ignore[assignment]
    started, worked = time.perf_counter(), time.process_time()
    try:
        await expire(store, reporting)
    finally:
        store.write = write  # type: ignore[method-assign]
    took, worked = time.perf_counter() - started, time.process_time() - worked
    reported = store.read_sync(lambda db: db.value("SELECT count(*) FROM event"))
    if reported != MANY:
        raise RuntimeError(f"{reported} of {MANY} were reported")
    await store.close()
    return took, worked, max(batches)


def _limits(db: Connection, owner_id: int, first: int) -> None:
    for number in range(first, first + 1000):
        repo = repositories.create(db, owner_id, f"engine-{number}")
        interaction_limits.limit_repository(db, repo, "existing_users", db.now + DAY)


def _invitations(db: Connection, owner_id: int, first: int) -> None:
    for number in range(first, first + 1000):
        repo = repositories.create(db, owner_id, f"engine-{number}")
        guest = accounts.create(db, f"guest-{number}")
        invitations.invite(db, repo["id"], guest["id"], owner_id, "read", ends=db.now + DAY)


def _tokens(db: Connection, owner_id: int, first: int) -> None:
    for number in range(first, first + 1000):
        tokens.create(db, owner_id, note=f"token {number}", expires_at=db.now + DAY)
