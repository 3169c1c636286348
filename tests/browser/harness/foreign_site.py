"""Another site, whose page posts a form to the dashboard as soon as it is opened."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from local_server import listening

PAGE = """<!doctype html><title>elsewhere</title>
<form method="post" action="{target}"><input name="csrf" value="guessed"></form>
<script>document.forms[0].submit()</script>"""


class Elsewhere:
    """A server on its own port. `target` is the URL to which its page posts a form."""

    def __init__(self) -> None:
        self.target = ""
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = PAGE.format(target=self.target).encode()
        head = f"Content-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close"
        writer.write(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + body)


@asynccontextmanager
async def another_site() -> AsyncIterator[Elsewhere]:
    made = Elsewhere()
    async with listening(made.serve) as made.port:
        yield made
