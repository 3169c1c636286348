"""Durable ingest: POSTs to a topic, against the same server without storage."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from store import open_store
from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.load import load
from tests.benchmarks.harness.processes import Server, serving

CONNECTIONS = 64
BUSY = 0.6
"""A load generator that is busy for a larger share of the time may limit the rate."""
SIZES = {2_000: (10_000, 0.7, 10.0), 20_000: (5_000, 0.65, 15.0)}
"""By the size of a body: the events of a round, and the targets of the ratio and of p99 in ms."""
UNSTORED = ("-m", "tests.benchmarks.references.unstored")
BARE = ("-m", "tests.benchmarks.references.bare_server")


@dataclass
class Door:
    """A server that accepts events, and the results of the loads on it."""

    server: Server
    token: str
    runs: list[dict[str, Any]] = field(default_factory=list)

    def rate(self, size: int, total: int) -> float:
        """Post `total` events of `size` bytes. Return the events a second."""
        run = apart.call(
            load,
            port=self.server.port,
            path=world.TOPIC,
            token=self.token,
            size=size,
            connections=CONNECTIONS,
            total=total,
        )
        self.runs.append(run)
        return float(run["rate"])

    def median(self, kind: str) -> float:
        """The median of p50, p99 or busy over the loads since they were last cleared."""
        return statistics.median(float(run[kind]) for run in self.runs)


def measure(bench: Bench) -> Iterator[Row]:
    """The rate at which events are stored on disk, and the time to the response."""
    ours, token = _prepared(bench.directory / "stored")
    other, other_token = _prepared(bench.directory / "unstored")
    with (
        serving(ours) as stored,
        serving(other, program=UNSTORED) as unstored,
        serving(other, program=BARE) as bare,
    ):
        doors = Door(stored, token), Door(unstored, other_token), Door(bare, "")
        for size in SIZES:
            yield from _measured(bench, size, *doors)


def _prepared(directory: Path) -> tuple[Path, str]:
    store = open_store("sqlite", data_dir=directory)
    token = store.write_sync(world.make)["token"]
    store.shut()
    return directory, token


def _measured(bench: Bench, size: int, ours: Door, unstored: Door, bare: Door) -> Iterator[Row]:
    total, wanted, wanted_p99 = SIZES[size]
    name = f"ingest, {size // 1000} kB"
    for door in (ours, unstored, bare):
        door.rate(size, total // 10)
        door.runs.clear()
    turns = bench.turns(
        name,
        ours=partial(ours.rate, size, total),
        reference=partial(unstored.rate, size, total),
        bare=partial(bare.rate, size, total),
    )
    yield turns.row(f"{name}: of the same server not storing", "/s", wanted)
    yield turns.row(f"{name}: of a bare Starlette application", "/s", of="bare")
    for kind, at_most in (("p50", None), ("p99", wanted_p99)):
        yield Row(
            f"{name}: {kind} with {CONNECTIONS} connections, not storing as reference",
            "ms",
            ours.median(kind),
            unstored.median(kind),
            wanted=at_most,
            more=False,
            absolute=True,
        )
    if (busy := bare.median("busy")) > BUSY:
        bench.notes.append(f"{name}: the load was busy for {busy:.0%} of the time.")
