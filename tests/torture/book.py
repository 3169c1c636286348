"""A receiver that writes down what comes, and from whom."""

import asyncio

from repeats import Sending

from tests.system.daemon import Ledger


class Book(Ledger):
    """A ledger that knows which process has sent what."""

    def __init__(self) -> None:
        super().__init__()
        self.sendings: list[Sending] = []
        """In the order in which they came."""
        self.came = asyncio.Event()

    def note(self, guid: str, agent: str) -> None:
        super().note(guid, agent)
        self.sendings.append(Sending(guid, agent))
        self.came.set()
