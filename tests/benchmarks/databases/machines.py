"""Hubs and workers in separate processes on one PostgreSQL: 1, 2 and 4 workers.

They share the processors of this machine with the database, the receiver and the clients. So the
processor time of each part is printed too: it says how many processors a rate needs.
"""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from store import Store, open_store
from tests.benchmarks.databases import ceiling
from tests.benchmarks.databases.postgres_server import Server as Database
from tests.benchmarks.databases.postgres_server import cluster, missing
from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.load import load
from tests.benchmarks.harness.payload import SIZE
from tests.benchmarks.harness.processes import Server, serving
from tests.benchmarks.harness.receiver import receiving

MANY, SUBSCRIBERS, CONNECTIONS = 2000, 10, 32
# Hubs and workers.
SIZES = ((1, 1), (1, 2), (1, 4), (2, 2))
CLIENTS = (1, 2, 4)
TWO_WORKERS = 1.7
US, BYTES, RATE = "us", "bytes", "/s"


@dataclass(slots=True)
class Machines:
    """The processes of one installation, and its store."""

    store: Store
    url: str
    token: str
    database: Database
    hubs: list[Server] = field(default_factory=list)
    workers: list[Server] = field(default_factory=list)

    def rate(self, total: int) -> float:
        """Post `total` events. Return the deliveries a second until the last one is recorded."""
        share = total // len(self.hubs)
        with ThreadPoolExecutor(len(self.hubs)) as threads:
            runs = [threads.submit(self._load, hub, share) for hub in self.hubs]
            began = min(run.result() for run in runs)
        return share * len(self.hubs) * SUBSCRIBERS / (world.finished(self.store) - began)

    def _load(self, hub: Server, total: int) -> float:
        given = {"path": world.TOPIC, "token": self.token, "size": SIZE}
        run = apart.call(load, port=hub.port, connections=CONNECTIONS, total=total, **given)
        return float(run["started"])

    def spent(self) -> dict[str, float]:
        """Return microseconds of processor time by part, bytes of the log, and transactions."""
        return {
            "hubs": sum(hub.cpu() for hub in self.hubs) * 1e6,
            "workers": sum(one.cpu() + one.senders_cpu() for one in self.workers) * 1e6,
            "PostgreSQL": self.database.spent(),
            **_counted(self.url),
        }


def _counted(url: str) -> dict[str, float]:
    import psycopg

    with psycopg.connect(url) as raw:
        row = raw.execute(
            "SELECT pg_current_wal_lsn() - CAST('0/0' AS pg_lsn), xact_commit"
            " FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    assert row is not None
    return {"log": float(row[0]), "transactions": float(row[1])}


def measure(bench: Bench) -> Iterator[Row]:
    """Deliveries a second, what each part spends on one, and the database's ceiling."""
    if missing(bench):
        return
    with (
        cluster(bench.directory / "pg") as database,
        receiving(bench, hosts=SUBSCRIBERS) as port,
    ):
        first = None
        for hubs, workers in SIZES:
            name = f"{hubs} hub{'s' * (hubs > 1)}, {workers} worker{'s' * (workers > 1)}"
            bench.said(f"machines: {name}")
            directory = bench.directory / f"{hubs}-{workers}"
            with _running(directory, database, port, hubs, workers) as machines:
                rate, rows = _measured(bench, machines, name)
            first = first or rate
            wanted = TWO_WORKERS if (hubs, workers) == (1, 2) else None
            yield Row(f"{name}: of 1 and 1", RATE, rate, first, rate / first, wanted)
            yield from rows
        yield from _ceiling(bench, database)


def _measured(bench: Bench, machines: Machines, name: str) -> tuple[float, list[Row]]:
    machines.rate(MANY // 4)
    before = machines.spent()
    rates = sorted(machines.rate(MANY) for _ in range(bench.rounds))
    total = MANY * SUBSCRIBERS * bench.rounds
    spent = {part: (now - before[part]) / total for part, now in machines.spent().items()}
    parts = ("hubs", "workers", "PostgreSQL")
    rows = [
        Row(f"{name}: processor time a delivery, {part}", US, spent[part], absolute=True)
        for part in parts
    ]
    whole = sum(spent[part] for part in parts)
    share = spent["PostgreSQL"] / whole * 100
    rows += [
        Row(f"{name}: PostgreSQL's share of that", "%", share, absolute=True),
        Row(f"{name}: deliveries for each processor", RATE, 1e6 / whole, absolute=True),
        Row(f"{name}: transactions a delivery", "", spent["transactions"], absolute=True),
        Row(f"{name}: write-ahead log a delivery", BYTES, spent["log"], absolute=True),
    ]
    return rates[len(rates) // 2], rows


@contextlib.contextmanager
def _running(
    directory: Path, database: Database, port: int, hubs: int, workers: int
) -> Iterator[Machines]:
    url = database.database()
    store = open_store(url, data_dir=directory)
    token = store.write_sync(world.make, subscribers=SUBSCRIBERS, port=port, hosts=SUBSCRIBERS)[
        "token"
    ]
    machines = Machines(store, url, token, database)
    given = {"TOCSIN_KEY_FILE": str(directory / "secret.key")}
    try:
        with contextlib.ExitStack() as stack:
            for number in range(hubs):
                place = directory / f"hub-{number}"
                running = serving(place, store=url, only="hub", settings=given)
                machines.hubs.append(stack.enter_context(running))
            for number in range(workers):
                place = directory / f"worker-{number}"
                running = serving(place, store=url, only="worker", settings=given)
                machines.workers.append(stack.enter_context(running))
            yield machines
    finally:
        store.shut()


def _ceiling(bench: Bench, database: Database) -> Iterator[Row]:
    """The same statements by plain clients, without any of our code."""
    alone = None
    for clients in CLIENTS:
        name = f"the same statements by {clients} plain client{'s' * (clients > 1)}"
        bench.said(f"machines: {name}")
        url = database.database()
        open_store(url, data_dir=bench.directory / f"plain-{clients}").shut()
        before = database.spent()
        rate = ceiling.rate(url, clients)
        spent = (database.spent() - before) / (rate * ceiling.SECONDS)
        alone = alone or rate
        yield Row(f"{name}: of 1", RATE, rate, alone, rate / alone)
        yield Row(f"{name}: PostgreSQL's processor time a delivery", US, spent, absolute=True)
