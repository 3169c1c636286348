"""The costs of a delivery on PostgreSQL: processor time, bytes, log, and its removal."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from store import Connection, Store, open_store
from store.clock import DAY, Clock
from tests.benchmarks.databases.postgres_server import cluster, missing
from tests.benchmarks.harness import apart, pipeline, world
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.receiver import receiving
from worker.jobs.prune import prune
from worker.settings import WorkerSettings

MANY, SUBSCRIBERS = 3000, 10
SIZES = ("event", "delivery", "attempt")
US, BYTES = "us", "bytes"


class Later(Clock):
    """A clock that is a year ahead, when nothing need be kept any longer."""

    def now(self) -> int:
        return super().now() + 365 * DAY


def measure(bench: Bench) -> Iterator[Row]:
    """The costs of a delivery, for events of 8 kB with ten subscribers each."""
    if missing(bench):
        return
    with cluster(bench.directory / "pg") as server, receiving(bench) as port:
        url = server.database()
        open_store(url, data_dir=bench.directory).shut()
        bench.said("deliveries")
        before, wal = server.spent(), _wal(url)
        key_file = str(bench.directory / "secret.key")
        given = {"port": port, "many": MANY, "subscribers": SUBSCRIBERS, "key_file": key_file}
        ran = apart.call(pipeline.deliver, url=url, **given)
        total = (MANY + world.WARMING) * SUBSCRIBERS
        yield _row("hub and worker: processor time a delivery", US, ran["cpu"])
        yield _row("PostgreSQL: processor time a delivery", US, (server.spent() - before) / total)
        yield _row("write-ahead log a delivery", BYTES, (_wal(url) - wal) / total)
        store = open_store(url, data_dir=bench.directory)
        for table, size in store.read_sync(_sizes).items():
            many = total / SUBSCRIBERS if table == "event" else total
            yield _row(f"table {table}, its indexes included, a row", BYTES, size / many)
        store.shut()
        bench.said("letting go")
        before, wal = server.spent(), _wal(url)
        took = apart.call(let_go, url=url, directory=str(bench.directory))
        yield _row("letting go: worker's processor time a delivery", US, took["cpu"] / total)
        yield _row("letting go: PostgreSQL's", US, (server.spent() - before) / total)
        yield _row("letting go: write-ahead log", BYTES, (_wal(url) - wal) / total)
        yield _row("letting go", "/s", total / took["seconds"])


def _row(figure: str, unit: str, value: float) -> Row:
    return Row(figure, unit, value, absolute=True)


def _wal(url: str) -> int:
    import psycopg

    with psycopg.connect(url) as raw:
        row = raw.execute("SELECT pg_current_wal_lsn() - CAST('0/0' AS pg_lsn)").fetchone()
    assert row is not None
    return int(row[0])


def _sizes(db: Connection) -> dict[str, int]:
    found = {}
    for table in SIZES:
        found[table] = db.value(f"SELECT pg_total_relation_size('{table}')")
    return found


async def let_go(url: str, directory: str) -> dict[str, Any]:
    """Delete everything that was delivered, as the worker's job does. Return what it took."""
    store: Store = open_store(url, data_dir=Path(directory), clock=Later())
    cpu, began = time.process_time(), time.perf_counter()
    await prune(store, WorkerSettings(reflect=False))
    spent = {"cpu": (time.process_time() - cpu) * 1e6, "seconds": time.perf_counter() - began}
    await store.close()
    await asyncio.sleep(0)
    return spent
