"""When a server of a test ends, it closes every connection, even one that was accepted last."""

import asyncio
import contextlib

import pytest
from local_server import listening
from waiting import PATIENCE


async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("turns", range(8))
async def test_a_connection_of_the_last_moment_is_closed(turns: int) -> None:
    async with listening(never) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(turns):
            await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
