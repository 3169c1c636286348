"""A receiver that writes down what comes, and when."""

import asyncio
import time
from collections import defaultdict

from tests.system.daemon import Ledger

# What was received so shortly before a kill may not have been recorded as received.
INSTANT = 0.5


class Book(Ledger):
    """A ledger that knows when each delivery came."""

    def __init__(self) -> None:
        super().__init__()
        self.times: defaultdict[str, list[float]] = defaultdict(list)
        self.came = asyncio.Event()

    def note(self, guid: str) -> None:
        super().note(guid)
        self.times[guid].append(time.monotonic())
        self.came.set()

    def again(self, kills: list[float]) -> int:
        """Deliveries that came once more, though no kill can have made the first forgotten."""
        return sum(
            not any(0 <= kill - first <= INSTANT for kill in kills)
            for times in self.times.values()
            for first in times[:-1]
        )
