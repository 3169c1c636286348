"""PostgreSQL against SQLite, on the same cores. Without PostgreSQL there are no figures."""

from collections.abc import Iterator
from functools import partial

from store import open_store
from tests.benchmarks.databases.postgres_server import Server, cluster, missing
from tests.benchmarks.deliveries import claim, pickup
from tests.benchmarks.harness import apart, pipeline, world
from tests.benchmarks.harness.figure import Bench, Row, percentile
from tests.benchmarks.harness.processes import serving
from tests.benchmarks.harness.receiver import receiving

MANY, SUBSCRIBERS = 1000, 10
WANTED = 0.6
STATEMENTS = 0.1
PICK_UP_MS = 2.5


def measure(bench: Bench) -> Iterator[Row]:
    """Deliveries a second, statements a delivery, claims, and the pick-up across processes."""
    if missing(bench):
        return
    with cluster(bench.directory / "pg") as server, receiving(bench) as port:
        given = {"port": port, "many": MANY, "subscribers": SUBSCRIBERS}
        counted: list[float] = []

        def rate() -> float:
            result = apart.call(pipeline.deliver, url=server.database(), counting=True, **given)
            counted.append(result["statements"])
            return float(result["rate"])

        name = f"delivery, {MANY:,} x {SUBSCRIBERS}"
        turns = bench.turns(
            f"{name} on PostgreSQL",
            ours=rate,
            reference=partial(pipeline.rate, **given),
        )
        yield turns.row(f"{name}: on PostgreSQL, of SQLite", "/s", WANTED)
        yield Row(
            "statements a delivery on PostgreSQL", "", max(counted), wanted=STATEMENTS,
            more=False, absolute=True,
        )  # fmt: skip
        urls = {behind: server.database() for behind in (claim.FEW, claim.MANY)}
        yield claim.compared(bench, "claim 100 due on PostgreSQL", urls)
        yield from _across(bench, server)


def _across(bench: Bench, server: Server) -> Iterator[Row]:
    """Measure the pick-up with separate processes: the database wakes the worker."""
    name = "pick-up across processes on PostgreSQL"
    bench.said(name)
    directory, url = bench.directory / "across", server.database()
    store = open_store(url, data_dir=directory)
    made = store.write_sync(world.make)
    store.shut()
    with (
        serving(directory, store=url, only="hub") as hub,
        serving(directory, store=url, only="worker"),
    ):
        given = {"directory": str(directory), "port": hub.port, "url": url, **made}
        took = apart.call(pickup.arrivals, events=pickup.EVENTS, **given)
    half = percentile(took["accepted"], 0.5) * 1000
    yield Row(
        f"{name}: p50 from the answer to receiver", "ms", half, wanted=PICK_UP_MS,
        more=False, absolute=True,
    )  # fmt: skip
