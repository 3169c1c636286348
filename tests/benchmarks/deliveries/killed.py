"""SIGKILL under load: deliveries that are sent again, against deliveries without an answer."""

import asyncio
import contextlib
import os
import random
import signal
import statistics
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from store import open_store
from tests.benchmarks.harness import world
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.load import post
from tests.benchmarks.harness.payload import payload
from tests.benchmarks.harness.processes import serving
from tests.benchmarks.harness.receiver import ANSWER, content_length

SUBSCRIBERS, EVENTS, PAUSE = 10, 40, 0.02
SIZE = 2_000
SLOWEST = 0.04
KILLS = 6
WANTED = 1.0


@dataclass(slots=True)
class Seen:
    """The deliveries that a receiver saw: how often each came, and whether it was answered."""

    came: Counter[bytes] = field(default_factory=Counter)
    answered: set[bytes] = field(default_factory=set)

    def copy(self) -> "Seen":
        """Return what was seen until now."""
        # In this order, so that no delivery counts as open that is answered meanwhile.
        came = Counter(self.came)
        return Seen(came, set(self.answered))

    @property
    def open(self) -> set[bytes]:
        """Deliveries that have had no answer."""
        return set(self.came) - self.answered


def measure(bench: Bench) -> Iterator[Row]:
    """The means of KILLS kills a round."""
    kills = []
    for number in range(1, KILLS * bench.rounds + 1):
        bench.said(f"killed: {number} of {KILLS * bench.rounds}")
        kills.append(_killed(bench.directory / str(number)))
    rate = round(SUBSCRIBERS / PAUSE)
    again = statistics.mean(kill.again for kill in kills)
    were_open = statistics.mean(kill.open for kill in kills)
    name = f"SIGKILL at {rate} deliveries a second: sent again, of those without an answer"
    yield Row(name, "", again, were_open, again / were_open, WANTED, more=False)
    late = statistics.mean(kill.late for kill in kills)
    yield Row("SIGKILL: sent again although they were answered", "", late)


@dataclass(frozen=True, slots=True)
class Killed:
    """Numbers of deliveries: open at the kill, sent again, and sent again despite an answer."""

    open: int
    again: int
    late: int


def _killed(directory: Path) -> Killed:
    store = open_store("sqlite", data_dir=directory)
    seen = Seen()
    with _receiving(seen) as port:
        made = store.write_sync(world.make, subscribers=SUBSCRIBERS, port=port)
        with serving(directory) as server:
            kill = partial(_kill, server.pid, seen)
            before = asyncio.run(_load(server.port, made["token"], kill))
        with serving(directory):
            world.finished(store)
    store.shut()
    again = {key for key, many in seen.came.items() if many > before.came[key] > 0}
    return Killed(len(before.open), len(again), len(again & before.answered))


def _kill(pid: int, seen: Seen) -> Seen:
    """Kill a server. Return what had been seen until then.

    Answers that the receiver gives after that reach nobody, and must not count.
    """
    before = seen.copy()
    os.kill(pid, signal.SIGKILL)
    return before


async def _load(port: int, token: str, kill: Callable[[], Seen]) -> Seen:
    """Post events at a steady pace over one connection, and then kill the server.

    Return what `kill` does.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in range(EVENTS):
        await asyncio.sleep(PAUSE)
        writer.write(post(world.TOPIC, token, payload(SIZE, number)))
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 202 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(head.decode("latin-1"))
        await reader.readexactly(content_length(head))
    await asyncio.sleep(random.uniform(0, PAUSE))
    before = kill()
    writer.close()
    return before


@contextlib.contextmanager
def _receiving(seen: Seen) -> Iterator[int]:
    """Run a receiver in a thread that counts deliveries in `seen`. Yield its port."""
    loop = asyncio.new_event_loop()
    serve = asyncio.start_server(partial(_answer, seen), "127.0.0.1", 0)
    server = loop.run_until_complete(serve)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _answer(seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(content_length(head))
            key = _key(head)
            seen.came[key] += 1
            await asyncio.sleep(random.uniform(0, SLOWEST))
            writer.write(ANSWER)
            await writer.drain()
            seen.answered.add(key)


def _key(head: bytes) -> bytes:
    """Return the path and the GUID of a request, which identify its delivery."""
    lines = head.split(b"\r\n")
    (guid,) = [line for line in lines if line.lower().startswith(b"x-github-delivery:")]
    return lines[0].split()[1] + guid
