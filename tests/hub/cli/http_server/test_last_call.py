"""The end of a server: an idle connection may send one more request, and none is lost."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from waiting import PATIENCE

from hub.cli.http_server import protocol as protocols
from hub.cli.http_server.connection_limiter import ConnectionLimiter
from hub.cli.http_server.server import Server, bind, port_of, serving
from hub.cli.http_server.server_limits import ServerLimits
from hub.cli.http_server.server_state import State

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"
OVER = b"connection: close"
BAD_BODY = b"POST /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Respond to each request with `ok`, on the path `/read` after its body."""
    if scope["type"] == "http":
        while scope["path"] == "/read":
            message = await receive()
            if not message.get("more_body"):
                break
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


class Client:
    """A keep-alive connection, without an HTTP library."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, request: bytes = REQUEST) -> bytes:
        """Send a request. Return the head of the response in lower case."""
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        assert await self.reader.readexactly(2) == b"ok"
        return head.lower()

    async def closed(self) -> bool:
        """Wait until the server closes the connection. Return whether it sent nothing else."""
        return await self.reader.read() == b""


@contextlib.asynccontextmanager
async def client(port: int) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


async def refused(port: int) -> None:
    """Wait until the server accepts no more connections."""
    with contextlib.suppress(OSError):
        while True:
            (await asyncio.open_connection("127.0.0.1", port))[1].close()


async def test_a_connection_that_rests_may_ask_once_more() -> None:
    """If the server closed it at once, a request that the client is sending would be lost."""
    bound = bind("127.0.0.1", 0)
    port = port_of(bound)
    async with asyncio.timeout(PATIENCE), contextlib.AsyncExitStack() as server:
        await server.enter_async_context(serving(app, bound, last_call=PATIENCE))
        async with client(port) as one:
            assert OVER not in await one.ask()
            ending = asyncio.create_task(server.aclose())
            await refused(port)
            assert OVER in await one.ask()
            assert await one.closed()
        await ending


async def test_a_connection_that_goes_on_resting_is_closed() -> None:
    bound = bind("127.0.0.1", 0)
    async with asyncio.timeout(PATIENCE), contextlib.AsyncExitStack() as server:
        await server.enter_async_context(serving(app, bound, last_call=0))
        async with client(port_of(bound)) as one:
            assert OVER not in await one.ask()
            await server.aclose()
            assert await one.closed()


@contextlib.asynccontextmanager
async def client_of_ending_server() -> AsyncIterator[Client]:
    """Yield an open connection to a server that has begun to end. Wait for its end after that."""
    bound = bind("127.0.0.1", 0)
    port = port_of(bound)
    async with asyncio.timeout(PATIENCE), contextlib.AsyncExitStack() as server:
        await server.enter_async_context(serving(app, bound, last_call=PATIENCE))
        async with client(port) as one:
            await one.ask()
            ending = asyncio.create_task(server.aclose())
            await refused(port)
            yield one
            await ending


async def test_a_body_that_never_comes_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its request is answered."""
    monkeypatch.setattr(protocols, "LINGER", 0.0)
    async with client_of_ending_server() as one:
        assert OVER in await one.ask(POST)


async def test_a_refused_body_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client reads the answer, and does not close its side of the connection."""
    monkeypatch.setattr(protocols, "LINGER", 0.0)
    async with client_of_ending_server() as one:
        one.writer.write(BAD_BODY)
        assert (await one.reader.read()).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("turns", range(8))
async def test_a_connection_of_the_last_moment_is_closed_too(turns: int) -> None:
    """The event loop accepts a connection some iterations before the server learns of it."""
    bound = bind("127.0.0.1", 0)
    server = Server(app, State(ConnectionLimiter(ServerLimits()), None), last_call=0)
    async with asyncio.timeout(PATIENCE):
        task = asyncio.create_task(server.serve([bound]))
        await server.listening.wait()
        opening = asyncio.create_task(asyncio.open_connection("127.0.0.1", port_of(bound)))
        for _ in range(turns):
            await asyncio.sleep(0)
        await server.shutdown([bound])
        server.should_exit = True
        await task
        with contextlib.suppress(ConnectionError):
            reader, writer = await opening
            assert await reader.read() == b""
            writer.transport.abort()
