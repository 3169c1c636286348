"""Claims of due deliveries, with few and with many delivered rows in the table."""

import statistics
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from store import Connection, Store, open_store
from store.database.connection import Session
from store.delivery import deliveries, leases
from tests.benchmarks.harness import world
from tests.benchmarks.harness.figure import Bench, Row

FEW, MANY = 10_000, 5_000_000
DUE, HOOKS = 100, 10
CLAIMS = 50
AT_ONCE = 500_000
WANTED = 1.2


def measure(bench: Bench) -> Iterator[Row]:
    """Milliseconds to claim 100 due deliveries, commit included."""
    urls = dict.fromkeys((FEW, MANY), "sqlite")
    yield compared(bench, "claim 100 due", urls)


def compared(bench: Bench, name: str, urls: dict[int, str]) -> Row:
    """Compare claims beside MANY delivered rows with claims beside FEW, in these stores."""
    stores = {
        behind: _filled(bench, name, bench.directory / str(behind), url, behind)
        for behind, url in urls.items()
    }
    turns = bench.turns(
        name,
        ours=partial(_claims, stores[MANY]),
        reference=partial(_claims, stores[FEW]),
    )
    for store in stores.values():
        store.shut()
    return turns.row(f"{name}: {MANY:,} rows behind, of {FEW:,}", "ms", WANTED, more=False)


def _filled(bench: Bench, name: str, directory: Path, url: str, behind: int) -> Store:
    store = open_store(url, data_dir=directory)
    store.write_sync(world.make)
    for first in range(0, behind, AT_ONCE):
        bench.said(f"{name}: {first:,} of {behind:,} rows")
        store.write_sync(_deliver, min(AT_ONCE, behind - first), 1, 1)
    store.write_sync(_deliver, DUE, 0, 0)
    return store


def _deliver(db: Connection, many: int, state: int, attempts: int) -> None:
    """Insert rows in this state into the delivery table, spread over the hooks, ten an event."""
    db.execute(
        "INSERT INTO delivery (event_id, hook_id, repo_id, state, attempts, due_at)"
        " WITH RECURSIVE row (number) AS (SELECT 0 UNION ALL"
        " SELECT number + 1 FROM row WHERE number + 1 < CAST(:many AS BIGINT))"
        " SELECT number / 10, number % :hooks + 1, 1, CAST(:state AS SMALLINT),"
        " CAST(:attempts AS SMALLINT), :now FROM row",
        many=many,
        hooks=HOOKS,
        state=state,
        attempts=attempts,
        now=db.now - 1_000_000,
    )


def _claims(store: Store) -> float:
    """Return the median milliseconds of a claim."""
    lease = store.write_sync(leases.acquire, "benchmark", 3_600_000_000)
    session = store.engine.session()
    try:
        return statistics.median(_claim(store, session, lease) for _ in range(CLAIMS)) * 1000
    finally:
        session.close()


def _claim(store: Store, session: Session, lease: int) -> float:
    started = time.perf_counter()
    session.begin(store.clock.now(), write=True, durable=False)
    claimed, _ = deliveries.claim(session.db, range(1, HOOKS + 1), lease, DUE)
    session.commit()
    took = time.perf_counter() - started
    if len(claimed) != DUE:
        raise RuntimeError(f"{len(claimed)} of {DUE} were claimed")
    session.begin(store.clock.now(), write=True, durable=False)
    deliveries.release(session.db, lease, [one.id for one in claimed])
    session.commit()
    return took
