"""PostgreSQL against the embedded engine, on the same cores; nothing where it is not installed."""

from collections.abc import Iterator
from functools import partial

from tests.benchmarks import apart, claim, pipeline
from tests.benchmarks.figure import Bench, Row
from tests.benchmarks.postgres_server import cluster, missing
from tests.benchmarks.receiver import receiving

MANY, SUBSCRIBERS = 1000, 10
WANTED = 0.6
STATEMENTS = 0.1


def measure(bench: Bench) -> Iterator[Row]:
    """Deliveries a second, statements a delivery, and claims."""
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
