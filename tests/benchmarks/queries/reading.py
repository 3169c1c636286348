"""A plain GET: an operation of the API beside a bare Starlette route with the same query."""

import asyncio
import time
from collections.abc import Iterator
from functools import partial

from store import open_store
from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.figure import Bench, Row, percentile
from tests.benchmarks.harness.processes import serving
from tests.benchmarks.harness.receiver import content_length

REQUESTS, WARMING = 2000, 200
WANTED = 2.0
PATH = f"/repos/{world.OWNER}/{world.NAME}/hooks/1"
BARE = ("-m", "tests.benchmarks.references.bare_reading")
# The limits are still counted, but no request is refused.
UNLIMITED = {"TOCSIN_RATE_LIMITS": '{"core": 1000000000}', "TOCSIN_POINTS_PER_MINUTE": "1000000000"}


def measure(bench: Bench) -> Iterator[Row]:
    """Milliseconds until the response, one request after the other on one connection."""
    store = open_store("sqlite", data_dir=bench.directory)
    token = store.write_sync(world.make, subscribers=1)["token"]
    store.shut()
    with (
        serving(bench.directory, settings=UNLIMITED) as hub,
        serving(bench.directory, program=BARE) as bare,
    ):
        turns = bench.turns(
            "reading",
            ours=partial(apart.call, ask, port=hub.port, token=token),
            reference=partial(apart.call, ask, port=bare.port, token=token),
        )
    name = "a plain GET: p50, of a bare Starlette route with the same query"
    yield turns.row(name, "ms", WANTED, more=False)


async def ask(port: int, token: str) -> float:
    """Return the p50 of the response times in milliseconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request = (
        f"GET {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    ).encode()
    took = []
    for number in range(WARMING + REQUESTS):
        started = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(content_length(head))
        if number >= WARMING:
            took.append(time.perf_counter() - started)
        if not head.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError((head + body)[:500])
    writer.close()
    return percentile(took, 0.5) * 1000
