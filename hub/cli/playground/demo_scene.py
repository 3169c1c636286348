"""The state of the demonstration: what arrived, and whether the receiver works."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.text import Text

from hub.cli.playground.demo_events import EVENTS
from hub.cli.playground.listen_output import verdict
from hub.cli.playground.received_request import ReceivedRequest
from hub.cli.playground.receiver import ReceivedDelivery, ReceiverAnswer
from hub.ui import formatting
from store import Row, Store
from store.delivery import delivery_queries

# A new subscription gets a ping before the events.
EXPECTED = {"ping", *EVENTS}
HEAD = f"{'event':<8}{'guid':<36}{'code':>5}{'ms':>5}  signatures"
# A narrower terminal shows whether the signatures are right, without their names.
NAMED_SIGNATURES = 110
BROKEN = 503


@dataclass
class DemoScene:
    """The state of the demonstration. It prints a row for each delivery that arrives."""

    store: Store
    console: Console
    secret: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    broken: bool = False
    """Whether the receiver answers 503."""
    verified: dict[str, bool] = field(default_factory=dict)
    """Whether the first delivery of each event arrived with valid signatures."""
    started: asyncio.Event = field(default_factory=asyncio.Event)
    complete: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _requests: Counter[str] = field(default_factory=Counter)

    async def answer(self, _: ReceivedRequest) -> ReceiverAnswer:
        """Answer a delivery as the receiver's present state says."""
        return (
            ReceiverAnswer(BROKEN, b"the receiver is broken\n")
            if self.broken
            else ReceiverAnswer(200)
        )

    def take(self, delivery: ReceivedDelivery) -> None:
        """Print a delivery that arrived, once its attempt is recorded."""
        self._requests[delivery.request.guid] += 1
        self.run(self._show(delivery.request, self._requests[delivery.request.guid]))

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in the background, until the demonstration ends."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End what runs in the background, and close the store."""
        for task in self._tasks:
            task.cancel()
        await self.store.close()

    async def _show(self, received: ReceivedRequest, number: int) -> None:
        row = await self._recorded(received.guid, number)
        await self.started.wait()
        self.console.print(self.line(received, row), soft_wrap=True)
        right = received.verified and row["state"] == "delivered"
        self.verified.setdefault(received.event, right)
        if self.verified.keys() >= EXPECTED:
            self.complete.set()

    def line(self, received: ReceivedRequest, row: Row) -> Text:
        """Return the row of a delivery. On a terminal, it fits 80 columns."""
        line = Text(f"{received.event:<8}{received.guid:<36}", no_wrap=True)
        line.append(f"{row['status_code']:>5}{row['duration'] / 1000:>5.0f}  ")
        named = not self.console.is_terminal or self.console.width >= NAMED_SIGNATURES
        line.append_text(verdict(received, named=named))
        if row["state"] == "waiting":
            again = formatting.ago(row["due_at"], self.store.clock.now())
            line.append(f"  again {again}", style="yellow")
        return line

    async def _recorded(self, guid: str, number: int) -> Row:
        """Return the delivery with this guid, once `number` attempts are recorded."""
        while True:
            page = await self.store.read(delivery_queries.page, limit=100)
            rows = [row for row in page if row["guid"] == guid and row["status_code"] is not None]
            if sum(row["attempts"] for row in rows) >= number:
                return max(rows, key=lambda row: int(row["attempt_id"]))
            await asyncio.sleep(0.01)
