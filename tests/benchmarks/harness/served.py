"""A trial with `tocsin serve`: events come over HTTP, and deliveries go to the receiver."""

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
    """A running daemon, and its store, which shows its deliveries."""

    server: Server
    store: Store
    token: str
    subscribers: int

    def rate(self, total: int) -> float:
        """Post `total` events. Return the deliveries a second until the last one is recorded."""
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
    """Run a daemon on these `cores`, and post `warming` events. Its hooks deliver to a local port,
    spread over `hosts` addresses of the receiver.
    """
    store = open_store("sqlite", data_dir=directory)
    token = store.write_sync(world.make, subscribers=subscribers, port=port, hosts=hosts)["token"]
    with contextlib.ExitStack() as stack:
        with pinned(cores):
            server = stack.enter_context(serving(directory))
        found = Served(server, store, token, subscribers)
        found.rate(warming)
        yield found
    store.shut()


@contextlib.contextmanager
def pinned(cores: set[int] | None) -> Iterator[None]:
    """Restrict processes that are started in the block to these cores, unless None."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
