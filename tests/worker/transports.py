"""Helpers for tests of the transport with both event loops: transports, requests and waiting."""

from typing import Any

import pytest
from receivers import LOOPBACK, Receiver
from waiting import PATIENCE, until

from worker.http.guard import Endpoint, Guard
from worker.http.transport import ExchangeResult, HttpSender, Transport


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


class opened:  # noqa: N801 - it is used as a function
    """A transport that is closed at the end, and must then have no open connection."""

    def __init__(self, guard: Guard | None = None, **settings: Any) -> None:
        self.guard = guard or Guard(allow_networks=LOOPBACK)
        self.transport = Transport(self.guard, **settings)

    async def __aenter__(self) -> Transport:
        return self.transport

    async def __aexit__(self, *exc: object) -> None:
        await self.transport.close()
        assert len(self.transport.pool) == 0
        self.guard.close()


def head_for(endpoint: Endpoint, body: bytes) -> bytes:
    return (
        f"POST {endpoint.target} HTTP/1.1\r\nHost: {endpoint.authority}\r\n"
        f"Content-Length: {len(body)}\r\nX-Hook: 1\r\n\r\n"
    ).encode()


async def post(
    transport: HttpSender,
    to: Receiver | str,
    body: bytes = b"{}",
    deadline: float = PATIENCE,
    **more: Any,
) -> ExchangeResult:
    url = to if isinstance(to, str) else to.url
    endpoint = Guard(allow_networks=LOOPBACK).endpoint(url)
    head = head_for(endpoint, body)
    return await transport.post(endpoint, head, body, deadline=deadline, **more)


async def settled(transport: Transport, count: int) -> None:
    """Wait until the transport has `count` open connections."""
    await until(lambda: len(transport.pool) == count, f"{count} open connections")
