"""Delays of deliveries to healthy endpoints beside endpoints that hang or refuse."""

import asyncio
import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hub.cli.http_server.server import bind, port_of
from hub.cli.install.serve import wait_until_settled
from store import Connection, Store, open_store
from store.database import uuid7
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from tests.benchmarks.deliveries.memory import HANGS_MS
from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.figure import Bench, Row, percentile
from tests.benchmarks.harness.payload import SIZE, payload
from tests.benchmarks.harness.receiver import receiving
from worker.service import Worker
from worker.settings import WorkerSettings

HOOKS = 100
EVENTS, PAUSE = 300, 0.03
WANTED = 1.05


def measure(bench: Bench) -> Iterator[Row]:
    """p95 from acceptance to delivery for the healthy hooks, against the same hooks alone, and
    against the same hooks beside healthy ones.
    """
    hanging = bench.directory / "hanging"
    hanging.mkdir()
    aside = Bench(bench.rounds, hanging, bench.said)
    with receiving(bench) as port, receiving(aside, delay_ms=HANGS_MS) as hangs:
        yield from _compared(bench, "1 of 100 hangs", port, hangs, 1)
        with _refusing() as refuses:
            yield from _compared(bench, "50 of 100 refuse", port, refuses, 50)


@contextlib.contextmanager
def _refusing() -> Iterator[int]:
    with bind("127.0.0.1", 0) as bound:
        yield port_of(bound)


def _compared(bench: Bench, why: str, port: int, bad_port: int, bad: int) -> Iterator[Row]:
    given = {"port": port, "bad_port": bad_port, "healthy": HOOKS - bad}
    turns = bench.turns(
        f"isolation, {why}",
        ours=partial(apart.call, healthy_p95, bad=bad, **given),
        reference=partial(apart.call, healthy_p95, bad=0, **given),
        well=partial(apart.call, healthy_p95, bad=bad, **{**given, "bad_port": port}),
    )
    name = f"isolation, {why}: p95 of the healthy"
    yield turns.row(f"{name}, of the same alone", "ms", WANTED, more=False)
    yield turns.row(f"{name}, of when all are well", "ms", WANTED, more=False, of="well")


async def healthy_p95(port: int, bad_port: int, healthy: int, bad: int) -> float:
    """Return p95 in milliseconds from acceptance to response, for the healthy hooks."""
    with TemporaryDirectory(prefix="tocsin-bench-") as directory:
        store = open_store("sqlite", data_dir=Path(directory))
        repo_id = store.write_sync(_world, port, bad_port, healthy, bad)
        worker = Worker(store, WorkerSettings(allow_networks=["127.0.0.0/8"]))
        try:
            await worker.start()
            wait_until_settled()
            await _post(store, repo_id)
            return percentile(store.read_sync(_waits, healthy), 0.95) / 1000
        finally:
            # Otherwise the worker's stop would wait for a hanging request.
            asyncio.get_running_loop().call_later(0.1, worker.lease.extend, 0)
            await asyncio.wait([worker.start_stopping()], timeout=0.5)
            await store.close()


def _world(db: Connection, port: int, bad_port: int, healthy: int, bad: int) -> int:
    made = world.make(db, subscribers=healthy, port=port)
    for number in range(healthy, healthy + bad):
        world.subscribe(db, made["repo_id"], f"http://127.0.0.1:{bad_port}/hooks/{number}")
    return int(made["repo_id"])


async def _post(store: Store, repo_id: int) -> None:
    for seed in range(EVENTS):
        body = payload(SIZE, seed)
        arrival = IncomingEvent(repo_id, uuid7.new(), repo_id, "push", body)
        await store.batch(events.accept, arrival, weight=len(body))
        await asyncio.sleep(PAUSE)
    await asyncio.sleep(1)


def _waits(db: Connection, healthy: int) -> list[float]:
    """Return the microseconds of each delivery to the healthy hooks, after the warm-up."""
    rows = db.tuples(
        "SELECT a.started_at + a.duration - e.received_at FROM attempt a"
        " JOIN event e ON e.id = a.event_id WHERE a.hook_id <= :healthy AND e.id > :warming",
        healthy=healthy,
        warming=world.WARMING,
    )
    expected = healthy * (EVENTS - world.WARMING)
    if len(rows) != expected:
        raise RuntimeError(f"{len(rows)} of {expected} deliveries to the healthy were made")
    return [float(wait) for (wait,) in rows]
