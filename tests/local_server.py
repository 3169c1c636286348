"""Servers in a test's own process, of which nothing is left open when they end."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients that encrypt nothing: reading all authorities takes longer than many a test."""
Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
# Of the loop, until a connection is known that was let in at the last moment.
TURNS = 5


@contextlib.asynccontextmanager
async def listening(
    handle: Handle, host: str = "127.0.0.1", port: int = 0, **how: Any
) -> AsyncIterator[int]:
    """Have `handle` see to each connection, which is closed when that returns or the client has
    left; gives the port. `how` is as for asyncio.start_server.
    """
    tasks: set[asyncio.Task[None]] = set()

    # Not a coroutine, which would be known only once it runs.
    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(_handled(handle, reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accepted, host, port, **how)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await turns()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
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
        # What it does not take any more would keep it open.
        writer.transport.abort()


async def turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)
