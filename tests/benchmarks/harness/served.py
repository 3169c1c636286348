"""`tocsin serve` as a trial: events come over HTTP, and deliveries go to the receiver."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from store import Store, open_store
from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.load import load
from tests.benchmarks.harness.payload import SIZE
from tests.benchmarks.harness.processes import Server, serving

CONNECTIONS = 32


@dataclass(slots=True)
class Served:
    """A daemon at work, and how its deliveries are counted."""

    server: Server
    store: Store
    token: str
    subscribers: int

    def rate(self, total: int) -> float:
        """Deliveries a second of so many events, until the last one is recorded."""
        run = apart.call(
            load,
            port=self.server.port,
            path=world.TOPIC,
            token=self.token,
            size=SIZE,
            connections=CONNECTIONS,
            total=total,
        )
        ended = world.finished(self.store)
        return total * self.subscribers / (ended - float(run["started"]))


@contextlib.contextmanager
def served(
    directory: Path,
    port: int,
    subscribers: int,
    warming: int = world.WARMING,
    cores: set[int] | None = None,
    hosts: int = 1,
) -> Iterator[Served]:
    """A daemon whose hooks deliver to a local port, after so many events; on these cores. They are
    spread over so many of the receiver's addresses.
    """
    store = open_store("sqlite", data_dir=directory)
    token = store.do(world.make, subscribers=subscribers, port=port, hosts=hosts)["token"]
    with contextlib.ExitStack() as stack:
        with pinned(cores):
            server = stack.enter_context(serving(directory))
        found = Served(server, store, token, subscribers)
        found.rate(warming)
        yield found
    store.shut()


@contextlib.contextmanager
def pinned(cores: set[int] | None) -> Iterator[None]:
    """Let the processes that are started in the block have these cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
