"""A receiver that records each request and the process that sent it."""

import asyncio

from daemon import Ledger
from repeats import Sending


class Book(Ledger):
    """A ledger that records which process sent each delivery."""

    def __init__(self) -> None:
        super().__init__()
        self.sendings: list[Sending] = []
        """The requests, in the order of their arrival."""
        self.came = asyncio.Event()

    def note(self, guid: str, agent: str) -> None:
        super().note(guid, agent)
        self.sendings.append(Sending(guid, agent))
        self.came.set()
