"""The faster reference for deliveries: asyncio streams that sign and post, and store nothing.

There is no HTTP client: this writes each head itself, and parses only the end of each response.
"""

import asyncio
import hmac
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.payload import SIZE, payload
from tests.benchmarks.harness.receiver import content_length

IN_FLIGHT = (32, 64)
"""The better of these counts is the reference. Higher counts are slower."""
KEY = world.SECRET.encode()


def rate(**given: Any) -> float:
    """Run `post_all` in its own process. Return the posts a second."""
    return max(float(apart.call(post_all, in_flight=most, **given)) for most in IN_FLIGHT)


async def post_all(port: int, many: int, subscribers: int, in_flight: int) -> float:
    """Post `many` bodies to each of the subscribers. Return the posts a second."""
    bodies = [payload(SIZE, seed) for seed in range(many + world.WARMING)]
    streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(in_flight)]
    try:
        await _post(streams, bodies[many:], subscribers)
        started = time.perf_counter()
        await _post(streams, bodies[:many], subscribers)
        return many * subscribers / (time.perf_counter() - started)
    finally:
        for _, writer in streams:
            writer.close()


async def _post(
    streams: Sequence[tuple[asyncio.StreamReader, asyncio.StreamWriter]],
    bodies: Sequence[bytes],
    subscribers: int,
) -> None:
    left = _requests(bodies, subscribers)

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for request in left:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 2"):
                raise RuntimeError(f"the receiver answered {head[:40]!r}")
            await reader.readexactly(content_length(head))

    await asyncio.gather(*(send(*stream) for stream in streams))


def _requests(bodies: Sequence[bytes], subscribers: int) -> Iterator[bytes]:
    for body in bodies:
        for hook in range(subscribers):
            signature = hmac.digest(KEY, body, "sha256").hex()
            head = (
                f"POST /hooks/{hook} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                f"X-Hub-Signature-256: sha256={signature}\r\n\r\n"
            )
            yield head.encode() + body
