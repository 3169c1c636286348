"""End to end: the hub accepts events, and the worker delivers and records them. The references are
a bare aiohttp client and bare asyncio streams that post the same bodies to the same receiver.
"""

from collections.abc import Iterator
from functools import partial

from tests.benchmarks.harness import pipeline
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.receiver import receiving
from tests.benchmarks.harness.served import served
from tests.benchmarks.references import bare_client, bare_streams

MANY, SUBSCRIBERS = 1000, 10
WIDE = (300, 100)
WANTED = 0.75
WANTED_SERVED = 1.2
WANTED_STREAMS, WANTED_STREAMS_WIDE = 0.45, 0.5


def measure(bench: Bench) -> Iterator[Row]:
    """Deliveries a second."""
    with receiving(bench) as port:
        given = {"port": port, "many": MANY, "subscribers": SUBSCRIBERS}
        name = f"delivery, {MANY:,} x {SUBSCRIBERS}"
        with served(bench.directory / "served", port, SUBSCRIBERS) as daemon:
            turns = bench.turns(
                name,
                ours=partial(pipeline.rate, **given),
                reference=partial(bare_client.rate, **given),
                whole=partial(bare_client.rate, whole=True, **given),
                streams=partial(bare_streams.rate, **given),
                served=partial(daemon.rate, MANY),
            )
        yield turns.row(f"{name}: of bare aiohttp that signs", "/s", WANTED)
        yield turns.row(f"{name}: of bare aiohttp that sends the same heads", "/s", of="whole")
        yield turns.row(f"{name}: of bare asyncio streams", "/s", WANTED_STREAMS, of="streams")
        served_name = f"{name}: posted to `tocsin serve`, of bare aiohttp"
        yield turns.row(served_name, "/s", WANTED_SERVED, side="served")
        given = {"port": port, "many": WIDE[0], "subscribers": WIDE[1]}
        name = f"delivery, {WIDE[0]:,} x {WIDE[1]}"
        turns = bench.turns(
            name,
            ours=partial(pipeline.rate, **given),
            reference=partial(bare_client.rate, **given),
            streams=partial(bare_streams.rate, **given),
        )
        yield turns.row(f"{name}: of bare aiohttp that signs", "/s", WANTED)
        yield turns.row(f"{name}: of bare asyncio streams", "/s", WANTED_STREAMS_WIDE, of="streams")
