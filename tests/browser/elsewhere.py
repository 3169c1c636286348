"""Another site, whose page posts a form to the dashboard as soon as it is opened."""

import asyncio
from typing import Self

PAGE = """<!doctype html><title>elsewhere</title>
<form method="post" action="{target}"><input name="csrf" value="guessed"></form>
<script>document.forms[0].submit()</script>"""


class Elsewhere:
    """A server on a port of its own, for the length of a block; `target` is where it posts to."""

    def __init__(self) -> None:
        self.target = ""
        self.port = 0
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        # A browser opens connections that it then asks for nothing.
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await reader.readuntil(b"\r\n\r\n")
            body = PAGE.format(target=self.target).encode()
            head = f"Content-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close"
            writer.write(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + body)
        except (EOFError, OSError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()
