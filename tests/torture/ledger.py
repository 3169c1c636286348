"""Numbered events, a receiver that writes down what comes, and SIGKILL at any moment."""

import asyncio
import contextlib
from dataclasses import dataclass
from random import Random

from repeats import AT_A_KILL, Record, Repeats, Sending, repeats
from waiting import PATIENCE, Stopwatch, until

from store.ordering.delivery_states import DELIVERED
from tests.system.daemon import AGENT, Site, ledger
from tests.torture.book import Book
from tests.torture.finding import Trial
from tests.torture.sender import Sender

# Times that a start takes: by then the first delivery of what was waiting has come.
FIRST = 5
# The user agent of the daemon that nobody kills.
LAST = "last"
ATTEMPTS = (
    "SELECT e.guid, a.request_head, a.status_code = 200 AND a.error IS NULL"
    " FROM attempt a JOIN event e ON e.id = a.event_id"
)
# Seconds from the start of a daemon to its end.
LIVES = (0.02, 1.5)


async def torture(trial: Trial) -> None:
    """Kill the server `rounds` times while it takes events in and delivers them."""
    site = Site(trial.folder)
    book = Book()
    async with ledger(made=book):
        site.hook(book)
        sender = Sender(site)
        kills: list[str] = []
        starts: list[Start] = []
        try:
            for number in range(trial.rounds):
                trial.report(f"ledger: kill {number + 1} of {trial.rounds}")
                life = f"life-{number}"
                starts += await _life(site, sender, book, life, Random(trial.seed + number))
                kills.append(life)
            await _end(site, book)
        finally:
            await site.close()
    _report(trial, site, sender, book, kills, starts)


@dataclass(frozen=True)
class Start:
    """A start with work waiting: seconds until it was at work, and until its first delivery."""

    at_work: float
    first: float


async def _life(site: Site, sender: Sender, book: Book, life: str, chance: Random) -> list[Start]:
    """One daemon from its start to its end; how it started, if a delivery was due. `life` is its
    user agent, which tells its deliveries from those of others.
    """
    due = bool(sender.accepted - book.got.keys())
    book.came.clear()
    taken = Stopwatch()
    if chance.random() < 0.1:
        await _killed_while_starting(site, life, chance)
        return []
    # Slow receivers leave work behind.
    book.pause = chance.choice((0, 0, 0.3))
    daemon = await site.serve(TOCSIN_USER_AGENT=life)
    at_work = taken.seconds()
    posting = asyncio.create_task(sender.post())
    starts = []
    if due:
        async with asyncio.timeout(PATIENCE):
            await book.came.wait()
        starts.append(Start(at_work, taken.seconds()))
    await asyncio.sleep(chance.uniform(*LIVES) ** 2)
    await daemon.kill()
    await posting
    return starts


async def _killed_while_starting(site: Site, life: str, chance: Random) -> None:
    serving = asyncio.create_task(site.serve(TOCSIN_USER_AGENT=life))
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
    daemon = await site.serve(TOCSIN_USER_AGENT=LAST)
    with contextlib.suppress(AssertionError):
        await until(lambda: not undone(site), pause=0.05)
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


def repeated(site: Site, book: Book, kills: list[str]) -> Repeats:
    """What came more than once. Who reads slowly may read last what came first, so the daemons'
    order counts: no two of them were there at a time.
    """
    order = {life: number for number, life in enumerate([*kills, LAST])}
    sendings = sorted(book.sendings, key=lambda one: order[one.sender])
    killed = ((one, None if one.sender == LAST else one.sender) for one in sendings)
    return repeats(killed, recorded(site))


def recorded(site: Site) -> Record:
    """The attempts in the database."""
    record = Record()
    with site.opened() as store:
        for guid, head, delivered in store.look(lambda db: db.tuples(ATTEMPTS)):
            agent = AGENT.search(head.encode())
            assert agent is not None
            record.add(Sending(guid, agent[1].decode()), delivered=bool(delivered))
    return record


def _report(
    trial: Trial,
    site: Site,
    sender: Sender,
    book: Book,
    kills: list[str],
    starts: list[Start],
) -> None:
    total = book.got.total()
    again = repeated(site, book, kills)
    trial.find("kills", f"{trial.rounds}", len(kills), len(kills) == trial.rounds)
    trial.find("events accepted", "some", f"{len(sender.accepted):,}", bool(sender.accepted))
    trial.none("accepted and lost", sender.accepted - book.got.keys())
    trial.none("delivered, never sent", book.got.keys() - sender.sent)
    trial.none("sent again, though recorded or still with the daemon", again.wrong)
    most = again.most_at_a_kill
    trial.find("sent again after a kill", f"at most {AT_A_KILL:,}", f"{most:,}", most <= AT_A_KILL)
    trial.find("sent again, all in all", "-", f"{total - len(book.got)} of {total:,}", True)
    first = max((each.first for each in starts), default=0.0)
    at_work = max((each.at_work for each in starts), default=0.0)
    trial.find(
        "from a start to the first delivery",
        f"at most {FIRST} times the slowest start",
        f"{first:.2f} s, {at_work:.2f} s ({len(starts)} starts with work waiting)",
        first <= FIRST * at_work,
    )
    trial.find("integrity of the database", "ok", site.integrity(), site.integrity() == "ok")
    trial.none("deliveries not delivered, or still leased", undone(site))
