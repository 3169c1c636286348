"""The way from an endpoint to an open connection: resolve and judge, connect, TLS.

Each stage is measured.
"""

import asyncio
import errno
import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter

from worker.http.answer import ExchangeResult, NoDescriptor, NoThread, Withheld, error_text
from worker.http.connection import HttpConnection, Origin
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard, Refused
from worker.http.names import NoThreadStarts
from worker.http.pool import Pool
from worker.http.tls_contexts import TlsChoice, context_of

MAX_DIALLED = 8
TLS_SHUTDOWN_SECONDS = 2.0


# This process, or this machine, may have no more files and connections open.
NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)


class DialError(Exception):
    """No connection was opened. The message is the result's error, "stage: message"."""


class Dialler:
    """The dialler of connections: to addresses that the guard returns, and to no others."""

    def __init__(self, guard: Guard, pool: Pool, verify_context: ssl.SSLContext | None) -> None:
        self._guard = guard
        self._pool = pool
        self._verify_context = verify_context

    async def dial(
        self,
        endpoint: Endpoint,
        origin: Origin,
        answer: ExchangeResult,
        when: float,
        seconds: float,
        may_reach: Callable[[str], bool] | None = None,
    ) -> HttpConnection:
        """Open a new connection before `when` on the loop's clock. `seconds` is for the error
        message.

        `may_reach` is called with each address before it is dialled. The timings and the address
        are written to `answer`. Raises DialError, Shortage, and Withheld if `may_reach` returns
        False.
        """
        if self._pool.closing:
            raise DialError("connect: the transport is closed")
        late = f"not done within {seconds:g} s"
        try:
            async with asyncio.timeout_at(when):
                with _stage(answer, "resolve", late):
                    addresses = (await self._guard.resolve(endpoint))[:MAX_DIALLED]
                with _stage(answer, "connect", late):
                    connection = await self._connect(
                        addresses, endpoint, origin, answer, when, may_reach
                    )
                if endpoint.scheme == "https":
                    with _stage(answer, "tls", late):
                        await self._secure(connection, endpoint.host)
                return connection
        except Refused as refused:
            raise DialError(f"guard: {refused}") from None
        except TimeoutError:
            raise DialError(answer.error or f"timeout: connect: {late}") from None

    async def _connect(
        self,
        addresses: list[str],
        endpoint: Endpoint,
        origin: Origin,
        answer: ExchangeResult,
        when: float,
        may_reach: Callable[[str], bool] | None,
    ) -> HttpConnection:
        """Try one address after the other. Each gets its share of the time that is left."""
        loop = asyncio.get_running_loop()
        failure = OSError("no address")
        for left in range(len(addresses), 0, -1):
            answer.address = address = addresses[-left]
            if may_reach is not None and not may_reach(address):
                raise Withheld
            make = partial(HttpConnection, self._pool, origin, address)
            try:
                async with asyncio.timeout_at(when - (when - loop.time()) * (left - 1) / left):
                    return (await loop.create_connection(make, address, endpoint.port))[1]
            except OSError as error:  # also TimeoutError
                failure = error
        raise failure

    async def _secure(self, connection: HttpConnection, host: str) -> None:
        """Start TLS. Raises OSError, also if the certificate is not trusted."""
        loop = asyncio.get_running_loop()
        try:
            transport = await loop.start_tls(
                connection.transport,
                connection,
                self._context(connection.origin[3]),
                server_hostname=host,
                ssl_shutdown_timeout=TLS_SHUTDOWN_SECONDS,
            )
            if transport is None or connection.closed:
                raise ConnectionResetError("connection closed after the handshake")
            connection.transport = transport
        except BaseException:
            connection.drop()
            self._pool.on_closed(connection)  # asyncio does not always report that it was lost
            raise

    def _context(self, choice: TlsChoice) -> ssl.SSLContext:
        if choice is True and self._verify_context is not None:
            return self._verify_context
        return context_of(choice)


def no_descriptor_is_left() -> bool:
    """Return whether no file can be opened. The system's resolver hides this error."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno in NO_DESCRIPTOR
    return False


@contextmanager
def _stage(answer: ExchangeResult, stage: str, late: str) -> Iterator[None]:
    """Measure a stage. If it fails, raise a DialError that names it, or a Shortage."""
    started = perf_counter()
    try:
        yield
    except asyncio.CancelledError:
        # This may be the deadline: the message is made here, where the stage is known.
        # asyncio.timeout does not turn a cancellation from outside into an error.
        answer.error = f"timeout: {stage}: {late}"
        raise
    except TimeoutError:
        raise DialError(f"timeout: {stage}: {late}") from None
    except NoThreadStarts as error:
        raise NoThread(f"{stage}: {error}") from None
    except OSError as error:
        if error.errno in NO_DESCRIPTOR or no_descriptor_is_left():
            raise NoDescriptor(f"{stage}: {os.strerror(errno.EMFILE)}") from None
        raise DialError(f"{stage}: {error_text(error)}") from None
    finally:
        micros = int((perf_counter() - started) * 1e6)
        answer.timings[stage] = answer.timings.get(stage, 0) + micros
