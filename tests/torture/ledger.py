"""Numbered events, a receiver that writes down what comes, and SIGKILL at any moment."""

import asyncio
import contextlib
import time
from random import Random

from waits import Taken

from store.attempts import DELIVERED
from tests.system.daemon import Site, ledger
from tests.torture.book import Book
from tests.torture.finding import Trial
from tests.torture.sender import Sender

FIRST = 2.0
DUPLICATES = 0.001
# Seconds from the start of a daemon to its end.
LIVES = (0.02, 1.5)
PATIENCE = 120.0


async def torture(trial: Trial) -> None:
    """Kill the server `rounds` times while it takes events in and delivers them."""
    site = Site(trial.folder)
    book = Book()
    async with ledger(made=book):
        site.hook(book)
        sender = Sender(site)
        kills: list[float] = []
        firsts: list[float] = []
        try:
            for number in range(trial.rounds):
                trial.tell(f"ledger: kill {number + 1} of {trial.rounds}")
                firsts += await _life(site, sender, book, kills, Random(trial.seed + number))
            await _end(site, book)
        finally:
            await site.close()
    _report(trial, site, sender, book, kills, firsts)


async def _life(
    site: Site, sender: Sender, book: Book, kills: list[float], chance: Random
) -> list[float]:
    """One daemon from its start to its end; when its first delivery came, if one was due."""
    due = bool(sender.accepted - book.times.keys())
    book.came.clear()
    taken = Taken()
    if chance.random() < 0.1:
        await _killed_while_starting(site, chance)
        kills.append(time.monotonic())
        return []
    # Slow receivers leave work behind.
    book.pause = chance.choice((0, 0, 0.3))
    daemon = await site.serve()
    posting = asyncio.create_task(sender.post())
    firsts = []
    if due:
        async with asyncio.timeout(PATIENCE):
            await book.came.wait()
        firsts.append(taken.seconds(daemon.process.pid))
    await asyncio.sleep(chance.uniform(*LIVES) ** 2)
    await daemon.kill()
    kills.append(time.monotonic())
    await posting
    return firsts


async def _killed_while_starting(site: Site, chance: Random) -> None:
    serving = asyncio.create_task(site.serve())
    await asyncio.sleep(chance.uniform(0.05, 0.8))
    for daemon in site.running:
        await daemon.kill()
    with contextlib.suppress(AssertionError):
        await serving
    for daemon in site.running:
        await daemon.kill()


async def _end(site: Site, book: Book) -> None:
    """Nobody posts any more, and the receiver is quick."""
    book.pause = 0
    daemon = await site.serve()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while undone(site):  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.05)
    await daemon.end()


def undone(site: Site) -> int:
    """Deliveries that are not delivered, or still leased."""
    with site.opened() as store:
        return int(
            store.look(
                lambda db: db.value(
                    "SELECT count(*) FROM delivery WHERE state <> :delivered"
                    " OR lease_id IS NOT NULL",
                    delivered=DELIVERED,
                )
            )
        )


def _report(
    trial: Trial,
    site: Site,
    sender: Sender,
    book: Book,
    kills: list[float],
    firsts: list[float],
) -> None:
    total = book.got.total()
    again = book.again(kills)
    trial.find("kills", f"{trial.rounds}", len(kills), len(kills) == trial.rounds)
    trial.find("events accepted", "some", f"{len(sender.accepted):,}", bool(sender.accepted))
    trial.none("accepted and lost", sender.accepted - book.times.keys())
    trial.none("delivered, never sent", book.times.keys() - sender.sent)
    share = again / max(1, total)
    trial.find(
        "sent again, outside the instants of the kills",
        f"at most {DUPLICATES:.1%}",
        f"{again} of {total:,}",
        share <= DUPLICATES,
    )
    trial.find("sent again, all in all", "-", f"{total - len(book.times)} of {total:,}", True)
    slowest = max(firsts, default=0.0)
    trial.find(
        "from a start to the first delivery",
        f"at most {FIRST:g} s",
        f"{slowest:.2f} s ({len(firsts)} starts with work waiting)",
        slowest <= FIRST,
        timed=True,
    )
    trial.find("integrity of the database", "ok", site.integrity(), site.integrity() == "ok")
    trial.none("deliveries not delivered, or still leased", undone(site))
