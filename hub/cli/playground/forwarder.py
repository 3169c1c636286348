"""Forwarding of deliveries to an application on another port, as `tocsin listen --forward` does."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import httpx

from hub.cli.playground.received_request import ReceivedRequest
from hub.cli.playground.receiver import Answerer, ReceiverAnswer

# Headers that are not passed on: hop-by-hop headers (RFC 9110, section 7.6.1), Host and
# Content-Length. The next connection has its own values of them.
HOP = frozenset([
    b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding",
    b"upgrade", b"expect", b"host", b"content-length",
])  # fmt: skip
# Seconds for the application's answer. The sender's own timeout normally ends the wait earlier.
PATIENCE = 600
MOST_ANSWER = 4 * 1024 * 1024
# Neither the server of `tocsin listen` nor the hub takes a larger status.
LARGEST_STATUS = 599


@contextlib.asynccontextmanager
async def forwarding(url: str, delay: float) -> AsyncIterator[Answerer]:
    """Yield an answerer that passes each delivery on to `url` and answers as the application does.

    If `url` has no path, the delivery's own path is kept. `delay` is in seconds.
    """
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:

        async def answer(received: ReceivedRequest) -> ReceiverAnswer:
            await asyncio.sleep(delay)
            target = target_of(url, received.target)
            try:
                # The client's own limit begins again with each part of an answer.
                async with asyncio.timeout(PATIENCE):
                    return await _passed_on(client, target, received)
            except (httpx.HTTPError, TimeoutError) as error:
                said = str(error) or type(error).__name__
                problem = f"{target.copy_with(userinfo=b'')} did not answer: {said}"
                return ReceiverAnswer(502, f"{problem}\n".encode(), problem=problem)

        yield answer


def target_of(url: str, target: str) -> httpx.URL:
    """Return the URL that a delivery with this path and query (`target`) is passed on to.

    If `url` has neither path nor query, the delivery's are kept. If it has a path only, the
    delivery's query is kept.
    """
    forward = httpx.URL(url)
    _, mark, query = target.partition("?")
    if forward.raw_path == b"/":
        return forward.copy_with(raw_path=target.encode("latin-1"))
    if mark and not forward.query:
        return forward.copy_with(query=query.encode("latin-1"))
    return forward


async def _passed_on(
    client: httpx.AsyncClient, target: httpx.URL, received: ReceivedRequest
) -> ReceiverAnswer:
    request = httpx.Request(
        received.method, target, headers=_end_to_end(received.headers), content=received.body
    )
    response = await client.send(request, stream=True)
    try:
        if response.status_code > LARGEST_STATUS:
            raise httpx.RemoteProtocolError(f"{response.status_code} is no status of HTTP")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > MOST_ANSWER:
                return ReceiverAnswer(
                    502, b"too large\n", problem=f"the answer of {target} is too large"
                )
        return ReceiverAnswer(response.status_code, bytes(body), _end_to_end(response.headers.raw))
    finally:
        await response.aclose()


def _end_to_end(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() not in HOP]
