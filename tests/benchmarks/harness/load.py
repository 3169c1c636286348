"""A load generator: POSTs over kept connections, one request at a time on each."""

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from tests.benchmarks.harness.figure import percentile
from tests.benchmarks.harness.payload import payload
from tests.benchmarks.harness.receiver import content_length


def post(path: str, token: str, body: bytes) -> bytes:
    """Return the bytes of a POST request."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@dataclass(slots=True)
class Run:
    """The number of requests that are left, and the seconds that each response took."""

    left: int
    took: list[float] = field(default_factory=list)
    failed: str | None = None


class Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, run: Run, request: bytes) -> None:
        self._run = run
        self._request = request
        self._buffer = b""
        self._sent = 0.0
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send(self) -> None:
        """Send the next request, if there is one."""
        if self._run.left <= 0 or self._run.failed:
            self._transport.close()
            return
        self._run.left -= 1
        self._sent = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 or len(self._buffer) < end + 4 + content_length(self._buffer[: end + 2]):
            return
        self._run.took.append(time.perf_counter() - self._sent)
        if not self._buffer.startswith(b"HTTP/1.1 202 "):
            self._run.failed = self._buffer[:500].decode("latin-1")
        self._buffer = b""
        self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set_result(None)


async def load(
    port: int, path: str, token: str, size: int, connections: int, total: int
) -> dict[str, Any]:
    """Post `total` bodies of `size` bytes. Return `rate` a second, `p50` and `p99` in milliseconds,
    `busy`, the share of a core that this process took, and `started` and `ended`.
    """
    run = Run(total)
    loop = asyncio.get_running_loop()
    clients = []
    for seed in range(connections):
        request = post(path, token, payload(size, seed))
        made = await loop.create_connection(partial(Client, run, request), "127.0.0.1", port)
        clients.append(made[1])
    cpu, started = time.process_time(), time.perf_counter()
    for client in clients:
        client.send()
    await asyncio.gather(*(client.ended for client in clients))
    ended = time.perf_counter()
    if run.failed or len(run.took) != total:
        raise RuntimeError(run.failed or f"{len(run.took)} of {total} answered")
    return {
        "rate": total / (ended - started),
        "p50": percentile(run.took, 0.5) * 1000,
        "p99": percentile(run.took, 0.99) * 1000,
        "busy": (time.process_time() - cpu) / (ended - started),
        "started": started,
        "ended": ended,
    }
