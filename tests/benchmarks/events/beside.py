"""Ingest beside deliveries: clients post events while the worker delivers a backlog of another
repository as fast as it can.
"""

import statistics
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from store import Connection, Store, open_store
from store.repositories import repositories
from tests.benchmarks.events.ingest import CONNECTIONS, Door
from tests.benchmarks.harness import world
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.payload import SIZE, payload
from tests.benchmarks.harness.processes import serving
from tests.benchmarks.harness.receiver import receiving

EVENT_SIZE, TOTAL = 2000, 20_000
EVENTS, SUBSCRIBERS = 800, 100
BEGUN = 0.3
"""Seconds until deliveries run at full speed."""
WANTED = 0.8


def measure(bench: Bench) -> Iterator[Row]:
    """Events a second, against the same server with nothing to deliver."""
    directory = bench.directory / "beside"
    store = open_store("sqlite", data_dir=directory)
    token = store.write_sync(world.make)["token"]
    meanwhile: list[float] = []
    with receiving(bench) as port, serving(directory) as server:
        repo_id = store.write_sync(_busy, port)
        door = Door(server, token)
        door.rate(EVENT_SIZE, TOTAL // 10)
        turns = bench.turns(
            "beside",
            ours=partial(_beside, store, repo_id, door, meanwhile),
            reference=partial(door.rate, EVENT_SIZE, TOTAL),
        )
    store.shut()
    name = f"ingest, {EVENT_SIZE // 1000} kB, {CONNECTIONS} connections, beside deliveries"
    yield turns.row(f"{name}: of the same without", "/s", WANTED)
    yield Row("deliveries meanwhile", "/s", statistics.median(meanwhile))


def _beside(store: Store, repo_id: int, door: Door, meanwhile: list[float]) -> float:
    before = store.read_sync(world.delivered)
    store.write_sync(world.queue, repo_id)
    time.sleep(BEGUN)
    rate = door.rate(EVENT_SIZE, TOTAL)
    done = store.read_sync(world.delivered)
    meanwhile.append(store.read_sync(_delivered, door.runs[-1]))
    if done - before >= EVENTS * SUBSCRIBERS:
        raise RuntimeError(
            f"all was delivered before the last event was taken in, at {rate:,.0f} events/s"
        )
    world.finished(store)
    return rate


def _delivered(db: Connection, run: dict[str, Any]) -> float:
    """Return the deliveries a second during a load that has just ended."""
    since = time.time() - time.perf_counter()
    began, ended = since + run["started"], since + run["ended"]
    many = db.value(
        "SELECT count(*) FROM attempt WHERE started_at BETWEEN :began AND :ended",
        began=int(began * 1e6),
        ended=int(ended * 1e6),
    )
    return float(many / (ended - began))


def _busy(db: Connection, port: int) -> int:
    repo = repositories.create(db, 1, "busy")
    for number in range(SUBSCRIBERS):
        world.subscribe(db, repo["id"], f"http://127.0.0.1:{port}/hooks/{number}")
    world.fill(db, repo["id"], EVENTS, payload(SIZE, 1))
    return int(repo["id"])
