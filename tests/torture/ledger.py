"""SIGKILL at random moments: every accepted event reaches the receiver."""

import asyncio
import contextlib
from dataclasses import dataclass
from random import Random

from daemon import AGENT, Site, ledger
from repeats import AT_A_KILL, Record, Repeats, Sending, repeats
from waiting import PATIENCE, Stopwatch, until

from store.ordering.delivery_states import DELIVERED
from tests.torture.book import Book
from tests.torture.finding import Trial
from tests.torture.sender import Sender

# The bound of the time to the first waiting delivery, in durations of a start.
FIRST = 5
# The user agent of the last daemon, which is not killed.
LAST = "last"
ATTEMPTS = (
    "SELECT e.guid, a.request_head, a.status_code = 200 AND a.error IS NULL"
    " FROM attempt a JOIN event e ON e.id = a.event_id"
)
# The seconds that a daemon works until its kill are the square of a number in this range.
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
    """Start a daemon and kill it. Return how it started, if a delivery was due.

    `life` is its user agent, which identifies its deliveries.
    """
    due = bool(sender.accepted - book.got.keys())
    book.came.clear()
    taken = Stopwatch()
    if chance.random() < 0.1:
        await _killed_while_starting(site, life, chance)
        return []
    # A slow receiver leaves deliveries to the next daemon.
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
    """Let a last daemon deliver everything, to a fast receiver and without new events."""
    book.pause = 0
    daemon = await site.serve(TOCSIN_USER_AGENT=LAST)
    with contextlib.suppress(AssertionError):
        await until(lambda: not undone(site), pause=0.05)
    await daemon.end()


def undone(site: Site) -> int:
    """Return the number of deliveries that are not delivered, or still leased."""
    with site.looking() as store:
        return int(
            store.read_sync(
                lambda db: db.value(
                    "SELECT count(*) FROM delivery WHERE state <> :delivered"
                    " OR lease_id IS NOT NULL",
                    delivered=DELIVERED,
                )
            )
        )


def repeated(site: Site, book: Book, kills: list[str]) -> Repeats:
    """Return the deliveries that came more than once.

    A slow receiver may read a request of one daemon after a request of the next. So the requests
    are sorted by their daemons, which never ran at the same time.
    """
    order = {life: number for number, life in enumerate([*kills, LAST])}
    sendings = sorted(book.sendings, key=lambda one: order[one.sender])
    killed = ((one, None if one.sender == LAST else one.sender) for one in sendings)
    return repeats(killed, recorded(site))


def recorded(site: Site) -> Record:
    """Return the attempts in the database."""
    record = Record()
    with site.opened() as store:
        for guid, head, delivered in store.read_sync(lambda db: db.tuples(ATTEMPTS)):
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
