"""Faults of the system clock and of name resolution."""

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from receivers import ok, serving
from waiting import until
from worker_harness import Post, WorkerHarness, said

from store.clock import DAY
from tests.torture.finding import Trial
from worker.http.answer import ExchangeResult
from worker.http.guard import Guard

ALLOWED = "127.0.0.2"
FORBIDDEN = ("127.0.0.3", "169.254.169.254", "10.0.0.1", "::ffff:10.0.0.1", "fd00::1")


async def clock(trial: Trial) -> None:
    """The clock jumps by a day during retries: each delivery succeeds once, and none is lost."""
    harness = WorkerHarness(trial.folder)
    sick = True
    well: Counter[str] = Counter()

    def answer(post: Post) -> ExchangeResult:
        well[post.guid] += not sick
        return said(500 if sick else 200)

    harness.network.script = answer
    hook_id = harness.hook(options={"breaker": 0, "disable_after": 0})
    await harness.work()
    try:
        for seconds in (0, 86_400, -86_400, 86_400, -86_400):
            harness.clock.advance(seconds)
            before = len(harness.network.posts)
            await harness.events(10)
            await _until_more(lambda: len(harness.network.posts), before, 10)
        trial.none("leased in the past", _overdue(harness))
        sick = False
        for _ in range(40):
            await harness.pass_time(3600)
        await until(lambda: not harness.counts()["waiting"])
        counts = harness.counts()
        trial.find("delivered in the end", "50", counts["delivered"], counts["delivered"] == 50)
        trial.none("sent again after a success", [guid for guid, n in well.items() if n > 1])
        tried, sent = len(harness.attempts(hook_id)), len(harness.network.posts)
        trial.find("attempts on record", str(sent), tried, tried == sent)
    finally:
        await harness.close()


def _overdue(harness: WorkerHarness) -> list[Any]:
    return [row for row in harness.leased() if row["due_at"] < harness.clock.now() - DAY]


async def names(trial: Trial) -> None:
    """A host name resolves, then fails, then has forbidden addresses, then is correct again."""
    answers: list[str] = [ALLOWED]

    async def resolve(host: str, port: int) -> list[str]:
        if not answers:
            raise OSError("no such name")
        return answers

    guard = Guard(allow_networks=[f"{ALLOWED}/32"], resolver=resolve)
    harness = WorkerHarness(trial.folder)
    with dialled() as addresses:
        async with serving(ok, host=ALLOWED) as receiver:
            harness.hook(
                f"http://rebind.example:{receiver.port}/", options={"breaker": 0, "retries": [0, 1]}
            )
            await harness.work(real=True, guard=guard)
            try:
                await harness.event()
                await until(lambda: harness.counts()["delivered"] == 1)
                for found in ([], *([one] for one in FORBIDDEN), [ALLOWED, FORBIDDEN[0]]):
                    answers[:] = found
                    assert harness.worker is not None
                    harness.worker.close_idle_connections()
                    known = _tried(harness)
                    await harness.event()
                    await _until_more(lambda: _tried(harness), known)
                answers[:] = [ALLOWED]
                await harness.pass_time(10)
                await until(lambda: not harness.counts()["waiting"])
                counts = harness.counts()
                wanted = len(FORBIDDEN) + 3
                trial.find(
                    "delivered in the end", str(wanted), counts["delivered"],
                    counts["delivered"] == wanted,
                )  # fmt: skip
            finally:
                await harness.close()
    trial.none("forbidden addresses dialled", addresses & set(FORBIDDEN))
    trial.find("addresses dialled", ALLOWED, ", ".join(addresses), addresses == {ALLOWED})


async def _until_more(number: Callable[[], int], known: int, more: int = 1) -> None:
    """Wait until a number is larger than a known one."""
    await until(lambda: number() >= known + more)


def _tried(harness: WorkerHarness) -> int:
    return sum(row["attempts"] for row in harness.deliveries())


_watching: list[set[str]] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and _watching and isinstance(arguments[1], tuple):
        for each in _watching:
            each.add(str(arguments[1][0]))


@contextlib.contextmanager
def dialled() -> Iterator[set[str]]:
    """Collect every address to which this process connects a socket during the block."""
    if _audit not in _hooked:
        sys.addaudithook(_audit)
        _hooked.append(_audit)
    found: set[str] = set()
    _watching.append(found)
    try:
        yield found
    finally:
        _watching.remove(found)


_hooked: list[Any] = []
