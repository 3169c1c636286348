"""Hostile receivers beside a healthy one."""

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache

from receivers import Call, Handler, Receiver, deaf, repeats, says, serving, silent
from waiting import until

from store import Connection
from store.hooks import hooks
from store.repositories import repositories
from tests.torture.finding import Trial
from tests.torture.scene import Scene, scene

EVENTS = 200
TIMEOUT = 2.0
# The longest timeout that is allowed. Hanging receivers hang for most of the trial.
LONGEST = 120.0
CROWD = 10_000
SLOW = 0.5
# The worker distinguishes hosts by their addresses, not by their ports.
ELSEWHERE = "127.0.0.2"
RETRIES = "[0, 600]"
MEMORY = 200_000_000
HEAD = b"HTTP/1.1 200 OK\r\n"


async def reset(call: Call) -> None:
    await call.request()
    call.reset()


async def shut(call: Call) -> None:
    """Close the connection without reading the request."""


@cache
def bomb() -> bytes:
    """Return a small gzip response that expands to 100 MB.

    Packing it takes a quarter of a second, for which no run should wait that imports this module.
    """
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    small = b"".join(packed.compress(bytes(1_000_000)) for _ in range(100)) + packed.flush()
    lengths = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(small)
    return HEAD + lengths + small


async def explosive(call: Call) -> None:
    await says(bomb())(call)


# The name of each receiver, its behaviour, and the final state of its deliveries.
HOSTILE: dict[str, tuple[Handler, str]] = {
    "drips its answer": (repeats(HEAD + b"Content-Length: 100\r\n\r\n", b"x", 1.0), "waiting"),
    "never ends its headers": (repeats(HEAD, b"X-More: and more\r\n", 0.01), "waiting"),
    "never answers": (silent, "waiting"),
    "never reads": (deaf, "waiting"),
    "sends a gzip bomb": (explosive, "delivered"),
    "closes early": (says(HEAD + b"Content-Length: 100\r\n\r\nx", close=True), "waiting"),
    "closes at once": (shut, "waiting"),
    "resets": (reset, "waiting"),
    "answers nonsense": (says(b"\x00\xff\r\n\r\n" * 100), "waiting"),
    "answers without end": (repeats(HEAD + b"\r\n", b"x" * 65536), "delivered"),
}


async def hostile(trial: Trial) -> None:
    """All hostile receivers at once, and one that stalls in the TLS handshake.

    The healthy receiver gets all its deliveries while they hang.
    """
    async with scene(trial) as here, _all_of_them() as found:
        for name, receiver in found.items():
            kind = "https" if name == "stalls in TLS" else "http"
            _hook(here, f"{kind}://127.0.0.1:{receiver.port}/{len(name)}")
        await here.serve(TOCSIN_TIMEOUT=str(LONGEST), TOCSIN_RETRIES=RETRIES)
        here.post(2)
        await here.accepted(EVENTS)
        await here.rest()
        await here.all_came()
        hanging = {row["hook_id"] for row in here.site.rows() if row["lease_id"] is not None}
        known = f"{len(hanging)} of {len(found)}"
        trial.find("receivers that hang when the healthy one has all", "some", known, bool(hanging))
        memory = here.memory()
        trial.find(
            "memory", f"at most {MEMORY / 1e6:.0f} MB", f"{memory / 1e6:.0f} MB", memory <= MEMORY
        )
        await here.kill()
        daemon = await here.serve(TOCSIN_TIMEOUT=str(TIMEOUT), TOCSIN_RETRIES=RETRIES)
        await until(lambda: _all_tried(here, len(found)), "an attempt at each", pause=0.1)
        code = await daemon.end()
        trial.find("the daemon ends as it should", "0", code, code == 0)
        _ends(trial, here, list(found))


def _all_tried(here: Scene, hooks: int) -> bool:
    """Return whether each hostile receiver had an attempt."""
    tried = {row["hook_id"] for row in here.site.rows() if row["attempts"]}
    return tried >= set(range(2, hooks + 2))


@asynccontextmanager
async def _all_of_them() -> AsyncIterator[dict[str, Receiver]]:
    async with AsyncExitStack() as stack:
        handlers = {name: handler for name, (handler, _) in HOSTILE.items()}
        handlers["stalls in TLS"] = silent
        yield {
            name: await stack.enter_async_context(serving(handler))
            for name, handler in handlers.items()
        }


def _ends(trial: Trial, here: Scene, names: list[str]) -> None:
    expected = {name: state for name, (_, state) in HOSTILE.items()}
    rows = here.site.rows()
    trial.none("still leased", sum(row["lease_id"] is not None for row in rows))
    for number, name in enumerate(names, start=2):
        states = {row["state"] for row in rows if row["hook_id"] == number}
        wanted = {expected.get(name, "waiting")} | {"waiting"}
        what = f"the one that {name}: its deliveries are"
        trial.find(what, " or ".join(sorted(wanted)), ", ".join(sorted(states)), states <= wanted)
    count = len(here.sender.accepted) * (len(names) + 1)
    trial.find("deliveries in the database", f"{count:,}", f"{len(rows):,}", count == len(rows))


async def crowd(trial: Trial) -> None:
    """10,000 hooks lead to one host that first does not answer, and then takes half a second for
    each answer.
    """
    connections = set[int]()
    most = answers = 0
    delay = SLOW
    open_ = asyncio.Event()

    async def slow(call: Call) -> None:
        nonlocal most, answers
        connections.add(id(call))
        most = max(most, len(connections))
        try:
            while True:
                await call.request()
                await open_.wait()
                await asyncio.sleep(delay)
                answers += 1
                await call.say(HEAD + b"Content-Length: 0\r\n\r\n")
        finally:
            connections.discard(id(call))

    async with scene(trial) as here, serving(slow, host=ELSEWHERE) as receiver:
        base = f"http://{ELSEWHERE}:{receiver.port}"
        with here.site.opened() as store:
            store.write_sync(_hooks, [f"{base}/{number}" for number in range(CROWD)])
        await here.serve(TOCSIN_TIMEOUT=str(LONGEST))
        before: list[int] = []
        here.sender.over = False
        for number in range(1, 6):
            await here.sender.post_one()
            accepted = len(here.sender.accepted)
            trial.find("events accepted", f"{number}", accepted, accepted == number)
            known = answers
            await here.all_came()
            before.append(answers - known)
            # The first event arrives although the slow host has not answered anything yet.
            open_.set()
        trial.find(
            "the crowd's deliveries before an event reaches the other hook",
            f"at most {CROWD // 2:,}", f"{max(before):,}", max(before) <= CROWD // 2,
        )  # fmt: skip
        memory = here.memory()
        trial.find(
            "memory", f"at most {MEMORY / 1e6:.0f} MB", f"{memory / 1e6:.0f} MB", memory <= MEMORY
        )
        trial.find("connections to the host", "at most 64", most, most <= 64)
        # The time for the remaining deliveries is not measured.
        delay = 0
        await here.end()


def _hook(here: Scene, url: str) -> None:
    with here.site.opened() as store:
        store.write_sync(_hooks, [url])


def _hooks(db: Connection, urls: list[str]) -> None:
    repo = repositories.find(db, "ada", "engine")
    assert repo is not None
    for url in urls:
        hooks.create(db, repo["id"], url=url, events=["push"], content_type="json", secret="s")
