"""Every list of the API: its first page where there are 100 items, and where there are 100,000."""

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from bulk_rows import FILL
from operations_world import World, first, make, path

from hub.app import create_app
from hub.operations import OPERATIONS
from hub.rest.operation import Operation
from hub.settings import HubSettings
from store import Connection, open_store
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.queries.within import allow, answered, get

Add = Callable[[Connection, World, int], object]
FEW, MANY = 100, 100_000
ASKED = 50
WANTED = 1.5
SETTINGS = HubSettings(rate_limiting=False)


def measure(bench: Bench) -> Iterator[Row]:
    """Milliseconds until the response, within the process."""
    for add, operations in _operations().items():
        hubs = {many: Hub(bench, many, add) for many in (FEW, MANY)}
        for operation in operations:
            turns = bench.turns(
                f"paging: {operation.path}",
                ours=partial(hubs[MANY].ask, operation),
                reference=partial(hubs[FEW].ask, operation),
            )
            name = f"GET {operation.path}: page 1 of {MANY:,}, of {FEW:,}"
            yield turns.row(name, "ms", WANTED, more=False)
        for hub in hubs.values():
            hub.close()


def _operations() -> dict[Add, list[Operation]]:
    """Return the operations whose lists grow without limit, by the function that adds items."""
    found: dict[Add, list[Operation]] = {}
    for operation in OPERATIONS:
        fill = FILL.get(operation.id)
        if operation.pages is not None and fill is not None and fill.most is None:
            found.setdefault(fill.add, []).append(operation)
    return found


class Hub:
    """A hub on a store to which `add` added `many` items."""

    def __init__(self, bench: Bench, many: int, add: Add) -> None:
        bench.said(f"paging: {many:,} {add.__name__}")
        self._directory = TemporaryDirectory(dir=bench.directory)
        self._store = open_store("sqlite", data_dir=Path(self._directory.name))
        self._world: World = make(self._store)
        self._store.write_sync(add, self._world, many)
        self._loop = asyncio.new_event_loop()
        self._app = create_app(self._store, SETTINGS, allow)

    def ask(self, operation: Operation) -> float:
        """Return the median of ASKED requests in milliseconds."""
        return self._loop.run_until_complete(self._asked(operation))

    async def _asked(self, operation: Operation) -> float:
        where = FILL[operation.id].path or path(operation, self._world)
        wanted = urlsplit(SETTINGS.root()).path.rstrip("/") + where
        headers = {"User-Agent": "bench", **first(operation, self._world)}
        scope = _scope(wanted, headers)
        took = []
        for _ in range(ASKED):
            started = time.perf_counter()
            await answered(self._app, scope)
            took.append(time.perf_counter() - started)
        return statistics.median(took) * 1000

    def close(self) -> None:
        self._loop.run_until_complete(self._store.close())
        self._loop.close()
        self._directory.cleanup()


def _scope(wanted: str, headers: dict[str, str]) -> dict[str, Any]:
    sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    # The default page of some lists would hold the whole shorter list.
    return get(wanted, b"per_page=30", sent)
