"""Memory of `tocsin serve` with 100,000 deliveries to receivers that refuse or hang."""

import contextlib
import time
from collections.abc import Iterator

from hub.cli.http_server.server import bind, port_of
from store import Connection, open_store
from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.load import load
from tests.benchmarks.harness.payload import SIZE
from tests.benchmarks.harness.processes import serving
from tests.benchmarks.harness.receiver import receiving

EVENTS, SUBSCRIBERS = 1000, 100
CONNECTIONS = 32
HANGS_MS = 3_600_000
WATCHED = 8.0
WANTED_MB, WANTED_FRESH_MB = 80.0, 50.0


def measure(bench: Bench) -> Iterator[Row]:
    """Peak of the resident megabytes, against a fresh start. It hardly varies: one round."""
    yield from _fresh(bench)
    with _refusing() as port:
        yield _held(bench, "receivers refuse", port)
    with receiving(bench, delay_ms=HANGS_MS) as port:
        yield _held(bench, "receivers hang", port)


def _fresh(bench: Bench) -> Iterator[Row]:
    """Memory after the start of a daemon, a hub and a worker. The daemon is the reference."""
    bench.said("memory, fresh")
    directory = bench.directory / "fresh"
    store = open_store("sqlite", data_dir=directory)
    store.write_sync(world.make)
    store.shut()
    sizes = {}
    for only in (None, "hub", "worker"):
        with serving(directory, only=only) as server:
            sizes[only] = server.memory()
    whole = sizes.pop(None)
    yield Row(
        "memory, a fresh start: hub and worker in one process", "MB", whole,
        wanted=WANTED_FRESH_MB, more=False, absolute=True,
    )  # fmt: skip
    for only, size in sizes.items():
        yield Row(f"memory, a fresh start: a {only} alone", "MB", size, whole, size / whole)


@contextlib.contextmanager
def _refusing() -> Iterator[int]:
    """Reserve a port that refuses connections, and yield it."""
    with bind("127.0.0.1", 0) as bound:
        yield port_of(bound)


def _held(bench: Bench, why: str, port: int) -> Row:
    name = f"memory, {EVENTS * SUBSCRIBERS:,} waiting, {why}"
    bench.said(name)
    directory = bench.directory / why.replace(" ", "-")
    store = open_store("sqlite", data_dir=directory)
    token = store.write_sync(world.make, subscribers=SUBSCRIBERS, port=port)["token"]
    with serving(directory) as server:
        fresh = server.memory()
        apart.call(
            load,
            port=server.port,
            path=world.TOPIC,
            token=token,
            size=SIZE,
            connections=CONNECTIONS,
            total=EVENTS,
        )
        time.sleep(WATCHED)
        waiting, most = store.read_sync(_waiting), server.memory("VmHWM")
    store.shut()
    if waiting < EVENTS * SUBSCRIBERS:
        raise RuntimeError(f"only {waiting} deliveries were waiting")
    return Row(
        f"{name}: peak, a fresh start as reference", "MB", most, fresh, most / fresh, WANTED_MB,
        more=False, absolute=True,
    )  # fmt: skip


def _waiting(db: Connection) -> int:
    found: int = db.value("SELECT count(*) FROM delivery WHERE state = 0")
    return found
