"""What a process lets be seen of itself, whatever applications it serves and however often they
are made anew.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hub.kept import Kept
from hub.measures import HubMeasures
from store import Connection, Store, figures
from store.figures import Figures
from store.measures import Measures

# Rows that processes write to find out whether they can; two in one are no harm.
PLACES = 1024


@dataclass(slots=True)
class Seeing:
    """Made by the command that puts hub and worker together."""

    store: Store
    measures: HubMeasures = field(default_factory=HubMeasures)
    others: Sequence[Measures] = ()
    """What a worker in this process counts."""
    stuck: Callable[[float], str | None] = lambda limit: None
    """Which part of the delivery loop has shown no sign of life for so many seconds, in words."""
    phase: Literal["starting", "serving", "ending"] = "serving"
    figures: Kept[Figures] = field(init=False)
    writable: Kept[int] = field(init=False)
    """Writes, and gives the number of migration steps that this program does not know."""

    def __post_init__(self) -> None:
        store = self.store
        self.figures = Kept(lambda: store.read(figures.look))
        self.writable = Kept(lambda: store.write(_probe))

    async def close(self) -> None:
        """Look no more."""
        await self.figures.close()
        await self.writable.close()


def _probe(db: Connection) -> int:
    figures.probe(db, os.getpid() % PLACES)
    return figures.steps_ahead(db)
