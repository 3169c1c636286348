"""The HTTP/1.1 client of the deliveries: judged addresses, one deadline, kept connections."""

import asyncio
import ssl
from functools import cached_property
from time import perf_counter
from typing import Protocol

import httpx

from worker import httpx_seam
from worker.answer import KEEP, Answer
from worker.dial import DialError, Dialler
from worker.endpoint import Endpoint
from worker.guard import Guard, Refused
from worker.pool import Pool

__all__ = ["KEEP", "Answer", "Poster", "Transport"]


class Poster(Protocol):
    """Whoever can send a request: the Transport, or a stand-in for it in tests."""

    async def post(
        self,
        endpoint: Endpoint,
        head: bytes,
        body: bytes,
        *,
        deadline: float,
        verify_tls: bool = True,
        keep: int = KEEP,
    ) -> Answer:
        """Send a ready request head (request line to blank line) and body.

        `deadline` in seconds covers everything from resolving to the end of the answer. `keep` is
        how many bytes of the answer's body are read. Network failures are in the Answer's `error`.
        """
        ...


class Transport(httpx.AsyncBaseTransport):
    """Sends requests on connections of its own, which it keeps for the next ones.

    `idle_seconds`: how long an unused connection is kept (up to half as long again until it is
    swept); `idle_per_origin` and `idle_total`: how many. `verify_context` replaces the system's
    certificate authorities. For one event loop.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        idle_seconds: float = 30,
        idle_per_origin: int = 64,
        idle_total: int = 512,
        verify_context: ssl.SSLContext | None = None,
    ) -> None:
        self._guard = guard
        self.pool = Pool(idle_seconds, idle_per_origin, idle_total)
        self._dialler = Dialler(guard, self.pool, verify_context)

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        # Kept: to ask for it is a system call in Python 3.11.
        return asyncio.get_running_loop()

    async def post(
        self,
        endpoint: Endpoint,
        head: bytes,
        body: bytes,
        *,
        deadline: float,
        verify_tls: bool = True,
        keep: int = KEEP,
    ) -> Answer:
        """See Poster."""
        started = perf_counter()
        when = self._loop.time() + deadline
        answer = Answer()
        origin = (endpoint.scheme, endpoint.host, endpoint.port, verify_tls)
        connection = self.pool.take(origin)
        try:
            if connection is None:
                connection = await self._dialler.dial(endpoint, origin, answer, when, deadline)
            while not await connection.exchange(answer, head, body, keep, when, deadline):
                # Only a used connection can have been closed before any byte of an answer.
                connection = await self._dialler.dial(endpoint, origin, answer, when, deadline)
        except asyncio.CancelledError:
            if connection is not None:
                connection.leave(answer)
            raise
        except DialError as error:
            answer.error = str(error)
        answer.timings["total"] = int((perf_counter() - started) * 1e6)
        return answer

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The same exchange for httpx. Compressed bodies are left to httpx: to be safe from
        them, read with `aiter_raw`. Raises httpx exceptions; extensions: `keep`, `verify_tls`."""
        try:
            endpoint = self._guard.endpoint(str(request.url))
        except Refused as refused:
            raise httpx.ConnectError(f"guard: {refused}", request=request) from None
        body = await request.aread()
        answer = await self.post(
            endpoint,
            httpx_seam.head_of(request, endpoint, len(body)),
            body,
            deadline=httpx_seam.deadline_of(request),
            verify_tls=request.extensions.get("verify_tls", True),
            keep=request.extensions.get("keep", KEEP),
        )
        return httpx_seam.response_of(answer, request)

    async def close(self) -> None:
        """Close all connections, also those in use, and wait until they are."""
        await self.pool.close()

    async def aclose(self) -> None:
        """What httpx calls."""
        await self.close()
