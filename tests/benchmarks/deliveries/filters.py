"""Deliveries to hooks whose filters match, against the same hooks without filters."""

from collections.abc import Iterator
from functools import partial

from tests.benchmarks.harness import pipeline
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.receiver import receiving

MANY, SUBSCRIBERS = 1000, 10
WANTED = 0.9


def measure(bench: Bench) -> Iterator[Row]:
    """Deliveries a second."""
    with receiving(bench) as port:
        given = {"port": port, "many": MANY, "subscribers": SUBSCRIBERS}
        turns = bench.turns(
            "filters",
            ours=partial(pipeline.rate, filtering=True, **given),
            reference=partial(pipeline.rate, **given),
        )
        name = f"delivery, {MANY:,} x {SUBSCRIBERS}: hooks with filters, of the same without"
        yield turns.row(name, "/s", WANTED)
