"""The reference for deliveries: an aiohttp session that signs and posts, and stores nothing."""

import asyncio
import hmac
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.payload import SIZE, payload
from worker.signing.sign import Signer

IN_FLIGHT = (32, 64)
"""The better of these counts is the reference. Higher counts are slower."""
Headers = Callable[[int, bytes], dict[str, str]]
SIGNER = Signer(world.SECRET)


def rate(**given: Any) -> float:
    """Run `post_all` in its own process. Return the posts a second."""
    return max(float(apart.call(post_all, in_flight=most, **given)) for most in IN_FLIGHT)


async def post_all(
    port: int, many: int, subscribers: int, in_flight: int, whole: bool = False
) -> float:
    """Post `many` bodies to each of the subscribers. Return the posts a second.

    A request has the content type and one signature, or with `whole` all headers that tocsin sends.
    """
    import aiohttp

    headers = _whole if whole else _signed
    bodies = [payload(SIZE, seed) for seed in range(many + world.WARMING)]
    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector) as session:
        await _post(session, port, bodies[many:], subscribers, in_flight, headers)
        started = time.perf_counter()
        await _post(session, port, bodies[:many], subscribers, in_flight, headers)
        return many * subscribers / (time.perf_counter() - started)


async def _post(
    session: Any,
    port: int,
    bodies: Sequence[bytes],
    subscribers: int,
    in_flight: int,
    headers: Headers,
) -> None:
    left = ((body, hook) for body in bodies for hook in range(subscribers))

    async def send() -> None:
        for body, hook in left:
            url = f"http://127.0.0.1:{port}/hooks/{hook}"
            async with session.post(url, data=body, headers=headers(hook, body)) as answer:
                await answer.read()
                answer.raise_for_status()

    await asyncio.gather(*(send() for _ in range(in_flight)))


def _signed(hook: int, body: bytes) -> dict[str, str]:
    digest = hmac.digest(world.SECRET.encode(), body, "sha256").hex()
    return {
        "Content-Type": "application/json",
        "X-Hub-Signature-256": f"sha256={digest}",
    }


def _whole(hook: int, body: bytes) -> dict[str, str]:
    guid, now = str(uuid.uuid4()), int(time.time())
    sha1, sha256 = SIGNER.hub(body)
    headers = {
        "User-Agent": "GitHub-Hookshot/tocsin",
        "Content-Type": "application/json",
        "webhook-id": guid,
        "webhook-timestamp": str(now),
        "webhook-signature": SIGNER.standard(guid, now, body),
        "X-Hub-Signature": sha1,
        "X-Hub-Signature-256": sha256,
    }
    for prefix in ("X-Service-", "X-GitHub-"):
        headers |= {
            f"{prefix}Event": "push",
            f"{prefix}Delivery": guid,
            f"{prefix}Hook-ID": str(hook),
            f"{prefix}Hook-Installation-Target-Type": "repository",
            f"{prefix}Hook-Installation-Target-ID": "1",
        }
    return headers
