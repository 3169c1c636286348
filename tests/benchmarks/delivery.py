"""End to end: events accepted, delivered and recorded, against a bare aiohttp client that posts
the same signed bodies to the same receiver.
"""

import contextlib
from collections.abc import Iterator
from functools import partial

from store import open_store
from tests.benchmarks import apart, bare_client, pipeline, world
from tests.benchmarks.figure import Bench, Row, Trial
from tests.benchmarks.load import load
from tests.benchmarks.payload import SIZE
from tests.benchmarks.processes import serving
from tests.benchmarks.receiver import receiving

MANY, SUBSCRIBERS = 1000, 10
WIDE = (300, 100)
CONNECTIONS = 32
WANTED = 0.75


def measure(bench: Bench) -> Iterator[Row]:
    """Deliveries a second."""
    with receiving(bench) as port:
        given = {"port": port, "many": MANY, "subscribers": SUBSCRIBERS}
        name = f"delivery, {MANY:,} x {SUBSCRIBERS}"
        with _served(bench, port) as served:
            turns = bench.turns(
                name,
                ours=partial(pipeline.rate, **given),
                reference=partial(bare_client.rate, **given),
                whole=partial(bare_client.rate, whole=True, **given),
                served=served,
            )
        yield turns.row(f"{name}: of bare aiohttp that signs", "/s", WANTED)
        yield turns.row(f"{name}: of bare aiohttp that sends the same heads", "/s", of="whole")
        yield turns.row(f"{name}: posted to `tocsin serve`, of bare aiohttp", "/s", side="served")
        given = {"port": port, "many": WIDE[0], "subscribers": WIDE[1]}
        name = f"delivery, {WIDE[0]:,} x {WIDE[1]}"
        turns = bench.turns(
            name,
            ours=partial(pipeline.rate, **given),
            reference=partial(bare_client.rate, **given),
        )
        yield turns.row(f"{name}: of bare aiohttp that signs", "/s", WANTED)


@contextlib.contextmanager
def _served(bench: Bench, port: int) -> Iterator[Trial]:
    """A trial in which the events come through the door of `tocsin serve`."""
    directory = bench.directory / "served"
    store = open_store("sqlite", data_dir=directory)
    token = store.do(world.make, subscribers=SUBSCRIBERS, port=port)["token"]
    with serving(directory) as hub:

        def rate(total: int = MANY) -> float:
            run = apart.call(
                load,
                port=hub.port,
                path=world.TOPIC,
                token=token,
                size=SIZE,
                connections=CONNECTIONS,
                total=total,
            )
            ended = world.finished(store)
            return total * SUBSCRIBERS / (ended - float(run["started"]))

        rate(total=20)
        yield rate
    store.shut()
