"""An idle daemon: the time from a POST to its arrival at a receiver, and processor time."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from store import open_store
from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.figure import Bench, Row, percentile
from tests.benchmarks.harness.load import post
from tests.benchmarks.harness.payload import payload
from tests.benchmarks.harness.processes import serving
from tests.benchmarks.harness.receiver import Answering

EVENTS = 200
PAUSE = 0.01
SIZE = 2000
SETTLE, WATCHED = 2.0, 10.0
WANTED_MS, WANTED_CPU = {"p50": 1.0, "p99": 2.0}, 1.0


def measure(bench: Bench) -> Iterator[Row]:
    """Times are milliseconds; the reference is the same request sent straight to the receiver."""
    directory = bench.directory
    store = open_store("sqlite", data_dir=directory)
    made = store.write_sync(world.make)
    store.shut()
    with serving(directory) as hub:
        bench.said("pickup")
        given = {"directory": str(directory), "port": hub.port, **made}
        took = apart.call(arrivals, events=EVENTS, **given)
        bench.said("pickup: idle")
        time.sleep(SETTLE)
        before, started = hub.cpu(), time.perf_counter()
        time.sleep(WATCHED)
        idle = (hub.cpu() - before) / (time.perf_counter() - started)
    for kind, share in (("p50", 0.5), ("p99", 0.99)):
        ours, direct = (percentile(took[side], share) * 1000 for side in ("ours", "direct"))
        yield Row(
            f"pick-up, idle: {kind} from POST to receiver, straight there as reference",
            "ms", ours, direct, ours / direct, WANTED_MS[kind], more=False, absolute=True,
        )  # fmt: skip
    yield Row(
        "idle: processor time", "% of a core", idle * 100, None, None, WANTED_CPU,
        more=False, absolute=True,
    )  # fmt: skip


class Noting(Answering):
    """A receiver that notes when requests begin to arrive."""

    def __init__(self, arrived: "asyncio.Queue[float]") -> None:
        super().__init__(0)
        self._arrived = arrived

    def data_received(self, data: bytes) -> None:
        if not self._left:
            self._arrived.put_nowait(time.perf_counter())
        super().data_received(data)


async def arrivals(
    directory: str, port: int, token: str, repo_id: int, events: int, url: str = "sqlite"
) -> dict[str, Any]:
    """Post one event at a time. Return lists of the seconds until each arrives.

    `ours` is the time through the hub, and `accepted` its part after the hub's response. `direct`
    is the time of a request straight to the receiver.
    """
    arrived: asyncio.Queue[float] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    receiver = await loop.create_server(lambda: Noting(arrived), "127.0.0.1", 0)
    address = receiver.sockets[0].getsockname()
    store = open_store(url, data_dir=Path(directory))
    store.write_sync(world.subscribe, repo_id, f"http://127.0.0.1:{address[1]}/hook")
    store.shut()
    body = payload(SIZE, 1)
    hub = await asyncio.open_connection("127.0.0.1", port)
    direct = await asyncio.open_connection(*address)
    ours = post(world.TOPIC, token, body)
    plain = post("/hook", token, body)
    took: dict[str, list[float]] = {"ours": [], "accepted": [], "direct": []}
    for _ in range(events):
        whole, accepted = await _timed(hub, ours, arrived)
        took["ours"].append(whole)
        took["accepted"].append(accepted)
        whole, _ = await _timed(direct, plain, arrived)
        took["direct"].append(whole)
    return took


async def _timed(
    connection: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    request: bytes,
    arrived: "asyncio.Queue[float]",
) -> tuple[float, float]:
    """Return the seconds to the arrival, from the request and from its response."""
    reader, writer = connection
    await asyncio.sleep(PAUSE)
    sent = time.perf_counter()
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    answered = time.perf_counter()
    arrival = await arrived.get()
    if b" 202 " in head:
        await reader.readuntil(b"}")
    return arrival - sent, arrival - answered
