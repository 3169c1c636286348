"""The state of a process that monitoring reads. It outlives applications, which may be rebuilt."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hub.http.ttl_cache import TTLCache
from hub.rest.metrics import HubMetrics
from store import Connection, Store
from store.database.metrics import MetricSet
from store.monitoring import stats as figures
from store.monitoring.stats import DeliveryStats
from store.tracing import Tracer


@dataclass(slots=True)
class Observability:
    """The sources of health and metrics, created by the command that combines hub and worker."""

    store: Store
    metrics: HubMetrics = field(default_factory=HubMetrics)
    others: Sequence[MetricSet] = ()
    """The metrics of a worker in this process."""
    stuck: Callable[[float], str | None] = lambda limit: None
    """Returns a message if a part of the delivery loop gave no sign of life for `limit` seconds."""
    phase: Literal["starting", "serving", "ending"] = "serving"
    tracer: Tracer | None = None
    """The exporter of spans, or None."""
    clock: Callable[[], float] = time.monotonic
    """The clock of the caches, in seconds."""
    figures: TTLCache[DeliveryStats] = field(init=False)
    writable: TTLCache[int] = field(init=False)
    """Writes a probe, and returns the number of migration steps that this program does not know."""

    def __post_init__(self) -> None:
        store = self.store
        self.figures = TTLCache(lambda: store.read(figures.collect), clock=self.clock)
        self.writable = TTLCache(lambda: store.write(_probe), clock=self.clock)

    async def close(self) -> None:
        """Stop the running look-ups."""
        await self.figures.close()
        await self.writable.close()


def _probe(db: Connection) -> int:
    figures.probe(db)
    return figures.migrations_ahead(db)
