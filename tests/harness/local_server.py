"""Servers in a test's own process, of which nothing is left open when they end."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients that encrypt nothing: reading all authorities takes longer than many a test."""
Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
# Passes of the loop until a connection is known that was accepted at the last moment.
TURNS = 5


@contextlib.asynccontextmanager
async def listening(
    handle: Handle, host: str = "127.0.0.1", port: int = 0, **how: Any
) -> AsyncIterator[int]:
    """Have `handle` see to each connection, which is closed when that returns or the client has
    left; gives the port. `how` is as for asyncio.start_server.
    """
    connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    # Not a coroutine, which would be known only once it runs.
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
        # A task that is cancelled before it runs closes nothing.
        for writer in left.values():
            writer.transport.abort()
        await turns()


async def _handled(
    handle: Handle, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        with contextlib.suppress(OSError, EOFError):  # the client has left
            await handle(reader, writer)
        writer.close()
        await writer.wait_closed()
    except (OSError, asyncio.CancelledError):
        pass  # it left only now, or the test is over
    finally:
        # Untaken bytes would keep it open.
        writer.transport.abort()


async def stop_accepting(server: asyncio.Server) -> None:
    """Close a server after the connections that the loop is accepting.

    If it closes first, asyncio neither serves such a connection nor closes it.
    """
    for listener in server.sockets:
        asyncio.get_running_loop().remove_reader(listener.fileno())
    await turns()
    server.close()


async def turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)
