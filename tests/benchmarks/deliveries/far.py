"""Receivers that answer after 120 ms: the requests a second, compared with the rate that the
latency and the limit of requests in flight allow.
"""

import asyncio
import statistics
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hub.cli.install.serve import wait_until_settled
from store import Connection, open_store
from store.clock import SECOND
from tests.benchmarks.deliveries.far_transport import send
from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.payload import SIZE, payload
from tests.benchmarks.harness.receiver import receiving
from worker.service import Worker
from worker.settings import WorkerSettings

DELAY = 0.12
IN_FLIGHT = (500, 2000)
HOSTS = 40
"""The number of receivers, each with its own address."""
WARMING, SECONDS = 2.0, 4.0
WANTED, WANTED_MB = 0.8, 100.0
WHOLE = 500
"""Requests in flight for the whole pipeline. More would need more than two cores."""


def measure(bench: Bench) -> Iterator[Row]:
    """The rates of the transport with signed bodies, and of the pipeline from the store on."""
    with receiving(bench, delay_ms=round(DELAY * 1000), hosts=HOSTS) as port:
        for most in IN_FLIGHT:
            name = f"far receivers, {most:,} in flight: sent"
            given = {"hosts": HOSTS, "warming": WARMING, "seconds": SECONDS}
            found = [_tried(bench, name, send, port, most, **given) for _ in range(bench.rounds)]
            yield _row(name, most, [each["rate"] for each in found])
            memory = max(each["memory"] for each in found)
            yield Row(f"{name}, peak memory", "MB", memory, wanted=WANTED_MB, more=False,
                      absolute=True)  # fmt: skip
        name = f"far receivers, {WHOLE:,} in flight: delivered and recorded"
        rates = [_tried(bench, name, deliver, port, WHOLE) for _ in range(bench.rounds)]
        yield _row(name, WHOLE, rates)


def _tried(bench: Bench, name: str, trial: Any, port: int, most: int, **given: Any) -> Any:
    bench.said(name)
    return apart.call(trial, port=port, in_flight=most, **given)


def _row(name: str, most: int, rates: list[float]) -> Row:
    rate, allowed = statistics.median(rates), most / DELAY
    return Row(f"{name}, of what the latency allows", "/s", rate, allowed, rate / allowed, WANTED)


async def deliver(port: int, in_flight: int) -> float:
    """Return the deliveries a second of a worker with a backlog for enough hooks."""
    # An operator with slow receivers sets `max_in_flight`. Other settings are the defaults.
    settings = WorkerSettings(allow_networks=["127.0.0.0/8"], max_in_flight=in_flight)
    hooks = 2 * in_flight // settings.concurrency
    events = round(in_flight / DELAY * (WARMING + SECONDS + 1)) // hooks
    with TemporaryDirectory(prefix="tocsin-bench-") as directory:
        store = open_store("sqlite", data_dir=Path(directory))
        made = store.write_sync(world.make, subscribers=hooks, port=port, hosts=HOSTS)
        store.write_sync(world.fill, made["repo_id"], events, payload(SIZE, 1))
        store.write_sync(world.queue, made["repo_id"])
        worker = Worker(store, settings)
        await worker.start()
        wait_until_settled()
        await asyncio.sleep(WARMING + SECONDS)
        await worker.stop()
        rate = store.read_sync(_rate)
        await store.close()
    return rate


def _rate(db: Connection) -> float:
    """Return the deliveries a second that ended after the warm-up."""
    began = db.value("SELECT min(started_at) FROM attempt") + round(WARMING * SECOND)
    until = began + round((SECONDS - 1) * SECOND)
    many: int = db.value(
        "SELECT count(*) FROM attempt WHERE started_at + duration BETWEEN :began AND :until",
        began=began,
        until=until,
    )
    return many / (SECONDS - 1)
