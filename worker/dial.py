"""From an endpoint to an open connection: resolve and judge, connect, TLS, each stage measured."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from worker.answer import Answer, words
from worker.connection import Connection, Origin
from worker.endpoint import Endpoint
from worker.guard import Guard, Refused
from worker.pool import Pool

MAX_DIALLED = 8
TLS_SHUTDOWN_SECONDS = 2.0


class DialError(Exception):
    """No connection; the message is the Answer's error, "stage: message"."""


class Dialler:
    """Opens connections to the addresses that the guard hands out, and to no others."""

    def __init__(self, guard: Guard, pool: Pool, verify_context: ssl.SSLContext | None) -> None:
        self._guard = guard
        self._pool = pool
        self._contexts: dict[bool, ssl.SSLContext] = {}
        if verify_context:
            self._contexts[True] = verify_context

    async def dial(
        self, endpoint: Endpoint, origin: Origin, answer: Answer, when: float, seconds: float
    ) -> Connection:
        """A new connection, made before `when` on the loop's clock; `seconds` is for the message.

        Timings and the address go into `answer`. Raises DialError.
        """
        late = f"not done within {seconds:g} s"
        try:
            async with asyncio.timeout_at(when):
                with _stage(answer, "resolve", late):
                    addresses = await self._guard.resolve(endpoint)
                with _stage(answer, "connect", late):
                    sock = await _connect(addresses[:MAX_DIALLED], endpoint.port, answer, when)
                with _stage(answer, "tls" if endpoint.scheme == "https" else "connect", late):
                    return await self._open(sock, endpoint, origin, answer.address or "")
        except Refused as refused:
            raise DialError(f"guard: {refused}") from None
        except TimeoutError:
            raise DialError(answer.error or f"timeout: connect: {late}") from None

    async def _open(
        self, sock: socket.socket, endpoint: Endpoint, origin: Origin, address: str
    ) -> Connection:
        loop = asyncio.get_running_loop()
        secure = endpoint.scheme == "https"
        try:
            _, connection = await loop.create_connection(
                lambda: Connection(self._pool, origin, address),
                sock=sock,
                ssl=self._context(origin[3]) if secure else None,
                server_hostname=endpoint.host if secure else None,
                ssl_shutdown_timeout=TLS_SHUTDOWN_SECONDS if secure else None,
            )
        except BaseException:
            sock.close()
            raise
        self._pool.opened(connection)
        return connection

    def _context(self, verify: bool) -> ssl.SSLContext:
        context = self._contexts.get(verify)
        if context is None:
            context = self._contexts[verify] = ssl.create_default_context()
            context.set_alpn_protocols(["http/1.1"])
            if not verify:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
        return context


async def _connect(addresses: list[str], port: int, answer: Answer, when: float) -> socket.socket:
    """Try one address after the other, each with its share of the time that is left."""
    loop = asyncio.get_running_loop()
    failure: OSError = OSError("no address")
    for index, address in enumerate(addresses):
        answer.address = address
        share = (when - loop.time()) / (len(addresses) - index)
        try:
            async with asyncio.timeout_at(loop.time() + share):
                return await _tcp(address, port)
        except OSError as error:
            failure = error
    raise failure


async def _tcp(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except BaseException:
        sock.close()
        raise
    return sock


@contextmanager
def _stage(answer: Answer, stage: str, late: str) -> Iterator[None]:
    """Measure a stage, and turn what goes wrong in it into a DialError that names it."""
    started = perf_counter()
    try:
        yield
    except asyncio.CancelledError:
        # Maybe the deadline: the message is made where the stage is known, and a cancellation
        # from outside is not turned into an error by asyncio.timeout.
        answer.error = f"timeout: {stage}: {late}"
        raise
    except TimeoutError:
        raise DialError(f"timeout: {stage}: {late}") from None
    except OSError as error:
        raise DialError(f"{stage}: {words(error)}") from None
    finally:
        taken = int((perf_counter() - started) * 1e6)
        answer.timings[stage] = answer.timings.get(stage, 0) + taken
