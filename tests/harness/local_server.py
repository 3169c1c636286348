"""Servers in the test's own process. When a server ends, none of its connections stays open."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""A TLS context for clients that only use HTTP. Others load all certificate authorities, which
takes longer than many tests.
"""
Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
# The passes of the event loop from a connection's acceptance until `listening` knows it.
TURNS = 5


@contextlib.asynccontextmanager
async def listening(
    handle: Handle, host: str = "127.0.0.1", port: int = 0, **how: Any
) -> AsyncIterator[int]:
    """Serve each connection with `handle`, and yield the port.

    A connection is closed when `handle` returns or the client has left. `how` is passed to
    asyncio.start_server.
    """
    connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    # It is no coroutine, because the connection would be unknown until the coroutine runs.
    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(_handled(handle, reader, writer))
        connections[task] = writer
        task.add_done_callback(connections.pop)

    server = await asyncio.start_server(accepted, host, port, **how)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await stop_accepting(server)
        left = dict(connections)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)
        # A task that is cancelled before it runs does not close its connection.
        for writer in left.values():
            writer.transport.abort()
        await turns()


async def _handled(
    handle: Handle, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        with contextlib.suppress(OSError, EOFError):  # the client has left
            await handle(reader, writer)
        # Until Python 3.11.4, a connection over TLS that is closed twice cannot be aborted.
        if not writer.is_closing():
            writer.close()
        await writer.wait_closed()
    except (OSError, asyncio.CancelledError):
        pass  # the client has left, or the test is over
    finally:
        # Bytes that the client does not read would keep the connection open.
        writer.transport.abort()


async def stop_accepting(server: asyncio.Server) -> None:
    """Stop accepting connections. Close the server once the latest connections are set up.

    If the server closed first, asyncio would neither serve nor close these connections.
    """
    for listener in server.sockets:
        asyncio.get_running_loop().remove_reader(listener.fileno())
    await turns()
    server.close()


async def turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)
