"""A receiver that writes down what comes, and when."""

import asyncio
import time
from collections import defaultdict

from tests.system.daemon import Ledger

# What was answered so shortly before a kill may not have been recorded.
INSTANT = 0.5


class Book(Ledger):
    """A ledger that knows when each delivery came."""

    def __init__(self) -> None:
        super().__init__()
        self.times: defaultdict[str, list[float]] = defaultdict(list)
        self._answers: defaultdict[str, list[float]] = defaultdict(list)
        """When what came was answered, or is to be."""
        self.came = asyncio.Event()

    def note(self, guid: str) -> None:
        super().note(guid)
        self.times[guid].append(now := time.monotonic())
        self._answers[guid].append(now + self.pause)
        self.came.set()

    def again(self, kills: list[float]) -> int:
        """Deliveries that came once more, though no kill can have made the first forgotten."""
        return sum(
            not any(first <= kill <= answer + INSTANT for kill in kills)
            for guid, times in self.times.items()
            for first, answer in zip(times[:-1], self._answers[guid][:-1], strict=True)
        )
