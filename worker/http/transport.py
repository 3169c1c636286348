"""The HTTP/1.1 client of deliveries: judged addresses, one deadline, connections that are kept."""

import asyncio
import ssl
from collections.abc import Callable
from time import perf_counter
from typing import Protocol

from worker.http.answer import MAX_BODY, ExchangeResult, Shortage, Withheld
from worker.http.dial import DialError, Dialler
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard
from worker.http.pool import Pool
from worker.http.tls_contexts import TlsChoice
from worker.loop_bound import LoopBound

__all__ = ["MAX_BODY", "USER_AGENT", "ExchangeResult", "HttpSender", "Transport"]

USER_AGENT = "tocsin (WebSub; +https://www.w3.org/TR/websub/)"
"""The User-Agent of requests that no setting gives one."""


class HttpSender(Protocol):
    """An object that sends requests: the Transport or a substitute."""

    async def post(
        self,
        endpoint: Endpoint,
        head: bytes,
        body: bytes,
        *,
        deadline: float,
        verify_tls: TlsChoice = True,
        keep: int = MAX_BODY,
        may_send: Callable[[], bool] | None = None,
        may_reach: Callable[[str], bool] | None = None,
        spent: float = 0.0,
    ) -> ExchangeResult:
        """Send a complete request head (request line to blank line) and body.

        `deadline` in seconds covers everything from resolving to the end of the answer. `spent` is
        the part of it that has passed already. `keep` is how many bytes of the answer's body are
        read. `may_send` is called right before the first byte is sent. `may_reach` is called with
        each address before a connection to it is opened or used.

        Network failures are in the result's `error`. Raises Withheld if `may_send` or `may_reach`
        returns False. With `may_send`, raises a Shortage if this process has no descriptor or
        thread left.
        """
        ...


class Transport(LoopBound):
    """A sender of requests, with connections that it keeps for the next ones.

    `idle_seconds` is how long an unused connection is kept, or up to half as long again.
    `idle_per_origin` and `idle_total` limit how many are kept. `verify_context` replaces the
    system's certificate authorities. A transport belongs to one event loop.
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

    async def post(
        self,
        endpoint: Endpoint,
        head: bytes,
        body: bytes,
        *,
        deadline: float,
        verify_tls: TlsChoice = True,
        keep: int = MAX_BODY,
        may_send: Callable[[], bool] | None = None,
        may_reach: Callable[[str], bool] | None = None,
        spent: float = 0.0,
    ) -> ExchangeResult:
        """See HttpSender."""
        started = perf_counter()
        when = self._loop.time() + deadline - spent
        answer = ExchangeResult()
        origin = (endpoint.scheme, endpoint.host, endpoint.port, verify_tls)
        connection = self.pool.acquire(origin)
        starved = self.pool.starved
        first = starved.watch(origin, deadline - spent) if connection is None else None
        try:
            if connection is None:
                connection = await self._dialler.dial(
                    endpoint, origin, answer, when, deadline, may_reach
                )
            elif may_reach is not None and not may_reach(connection.address):
                self.pool.release(connection)
                raise Withheld
            if may_send is not None and not may_send():
                self.pool.release(connection)
                raise Withheld
            while not await connection.exchange(answer, head, body, keep, when, deadline):
                connection = await self._dialler.dial(
                    endpoint, origin, answer, when, deadline, may_reach
                )
        except asyncio.CancelledError:
            if connection is not None:
                connection.cancel(answer)
            raise
        except Shortage as shortage:
            if may_send is not None:
                raise
            answer.error = str(shortage)
        except DialError as error:
            answer.error = str(error)
        finally:
            starved.unwatch(first)
        answer.timings["total"] = int((perf_counter() - started) * 1e6)
        return answer

    async def close(self) -> None:
        """Close all connections, also the ones in use, and wait until they are closed."""
        await self.pool.close()
