"""A daemon, a client that posts events, and a receiver, for the trial of a fault."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from daemon import Daemon, Site, ledger
from waiting import until

from tests.torture.book import Book
from tests.torture.finding import Trial
from tests.torture.ledger import undone
from tests.torture.sender import Sender

# The seconds between checks that take processor time from the daemon.
SELDOM = 0.3


class Scene:
    """The daemon, its sender and its receiver, for one fault."""

    def __init__(self, trial: Trial, site: Site, book: Book) -> None:
        self.trial, self.site, self.book = trial, site, book
        self.sender = Sender(site)
        self.daemon: Daemon | None = None
        self._posting: asyncio.Task[None] | None = None

    async def serve(self, **environment: str) -> Daemon:
        self.daemon = await self.site.serve(**environment)
        return self.daemon

    def post(self, connections: int = 8) -> None:
        """Post in the background until `rest` is called."""
        self.sender.over = False
        self._posting = asyncio.create_task(self.sender.post(connections))

    async def rest(self) -> None:
        """Stop posting, and wait for the responses to open requests."""
        self.sender.over = True
        if self._posting is not None:
            await self._posting
            self._posting = None

    async def accepted(self, more: int) -> None:
        """Wait until `more` further events are accepted."""
        known = len(self.sender.accepted)
        await until(lambda: len(self.sender.accepted) >= known + more)

    async def all_came(self) -> None:
        """Wait until every accepted event has reached the receiver."""
        await until(lambda: not self.sender.accepted - self.book.got.keys())

    async def kill(self) -> None:
        assert self.daemon is not None
        await self.daemon.kill()
        await self.rest()

    async def end(self) -> None:
        """Wait until every accepted event is delivered, end the daemon, and note the findings."""
        await self.rest()
        with contextlib.suppress(AssertionError):
            await self.all_came()
            await until(lambda: not undone(self.site), pause=SELDOM)
        assert self.daemon is not None
        code = await self.daemon.end()
        self.trial.find("the daemon ends as it should", "0", code, code == 0)
        self.trial.none("accepted and lost", self.sender.accepted - self.book.got.keys())
        self.trial.none("not delivered, or still leased", undone(self.site))
        ok = self.site.integrity()
        self.trial.find("integrity of the database", "ok", ok, ok == "ok")

    def refusals(self) -> None:
        """Note whether each refusal is a 503 with Retry-After."""
        heads = self.sender.refused
        wrong = [
            head
            for head in heads
            if not head.startswith(b"HTTP/1.1 503 ") or b"\r\nretry-after: " not in head.lower()
        ]
        self.trial.find("events refused for now", "some", len(heads), bool(heads))
        self.trial.none("refused otherwise than with 503 and Retry-After", wrong)

    def processor(self) -> float:
        """Return the seconds of processor time that the daemon has used."""
        assert self.daemon is not None
        status = Path(f"/proc/{self.daemon.process.pid}/stat").read_text()
        user, system = status.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Return the resident memory of the daemon in bytes."""
        assert self.daemon is not None
        status = Path(f"/proc/{self.daemon.process.pid}/status").read_text()
        return 1024 * int(status.partition("VmRSS:")[2].split()[0])


@asynccontextmanager
async def scene(trial: Trial, *, hook: bool = True) -> AsyncIterator[Scene]:
    """Yield a scene in which nothing is started yet. End its processes after the block."""
    site = Site(trial.folder)
    book = Book()
    async with ledger(made=book):
        if hook:
            site.hook(book)
        made = Scene(trial, site, book)
        try:
            yield made
        finally:
            await site.close()
            await made.rest()
