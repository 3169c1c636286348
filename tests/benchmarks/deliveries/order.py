"""Ordered deliveries with many keys, against the same deliveries without an order.

Also ordered deliveries beside a failing key, against a receiver that accepts everything.
"""

from collections.abc import Iterator
from functools import partial

from tests.benchmarks.harness import pipeline
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.receiver import receiving

KEYS, MANY, SUBSCRIBERS = 10_000, 12_000, 2
WANTED = 0.8
# One event in so many has the key that fails.
FAILS_EACH = 100
WANTED_BESIDE = 0.95


def measure(bench: Bench) -> Iterator[Row]:
    """Deliveries a second."""
    with receiving(bench) as port:
        given = {"port": port, "many": MANY, "subscribers": SUBSCRIBERS, "keys": KEYS}
        name = f"ordered delivery, {KEYS:,} keys"
        turns = bench.turns(
            name,
            ours=partial(pipeline.rate, options={"ordering": {"path": "/key"}}, **given),
            reference=partial(pipeline.rate, **given),
            hook=partial(pipeline.rate, options={"ordering": "hook"}, **{**given, "many": 500}),
        )
        yield turns.row(f"{name}: of the same unordered", "/s", WANTED)
        yield turns.row(
            "ordered delivery, one key a hook: of 10,000 keys unordered", "/s", side="hook"
        )
    yield _beside_a_failing_key(bench)


def _beside_a_failing_key(bench: Bench) -> Row:
    with receiving(bench) as port, receiving(bench, failing=True) as failing:
        given = {
            "many": MANY,
            "subscribers": SUBSCRIBERS,
            "keys": KEYS,
            "options": {"ordering": {"path": "/key"}},
            "apart_from": FAILS_EACH,
        }
        name = f"ordered delivery, {KEYS:,} keys beside one that fails"
        turns = bench.turns(
            name,
            ours=partial(pipeline.rate, port=failing, **given),
            reference=partial(pipeline.rate, port=port, **given),
        )
        return turns.row(f"{name}: of the same without a failure", "/s", WANTED_BESIDE)
