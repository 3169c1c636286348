"""What a process lets be seen of itself, whatever applications it serves and however often they
are made anew.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hub.http.ttl_cache import TTLCache
from hub.rest.metrics import HubMetrics
from store import Connection, Store
from store.database.metrics import MetricSet
from store.monitoring import stats as figures
from store.monitoring.stats import DeliveryStats

# Rows that processes write to find out whether they can; two in one are no harm.
COMPONENTS = 1024


@dataclass(slots=True)
class Observability:
    """Made by the command that puts hub and worker together."""

    store: Store
    measures: HubMetrics = field(default_factory=HubMetrics)
    others: Sequence[MetricSet] = ()
    """What a worker in this process counts."""
    stuck: Callable[[float], str | None] = lambda limit: None
    """Which part of the delivery loop has shown no sign of life for so many seconds, in words."""
    phase: Literal["starting", "serving", "ending"] = "serving"
    figures: TTLCache[DeliveryStats] = field(init=False)
    writable: TTLCache[int] = field(init=False)
    """Writes, and gives the number of migration steps that this program does not know."""

    def __post_init__(self) -> None:
        store = self.store
        self.figures = TTLCache(lambda: store.read(figures.collect))
        self.writable = TTLCache(lambda: store.write(_probe))

    async def close(self) -> None:
        """Look no more."""
        await self.figures.close()
        await self.writable.close()


def _probe(db: Connection) -> int:
    figures.probe(db, os.getpid() % COMPONENTS)
    return figures.migrations_ahead(db)
