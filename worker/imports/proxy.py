"""A proxy for one program and one server.

Programs that resolve names themselves or follow redirects run behind it. It lets them reach the
judged addresses of that server, and nothing else.
"""

import asyncio
import base64
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from worker.http.addresses import Refused
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard
from worker.imports.git import CommandFailed
from worker.imports.probe import ImportProblem

PATIENCE = 30.0
USER = "import"
CHUNK = 1 << 16
# Headers for the proxy alone, and headers about the connection, which serves one request.
DROPPED = (b"proxy-authorization:", b"proxy-connection:", b"connection:", b"keep-alive:")


class ImportProxy:
    """A proxy on `port` of this machine, for programs that know the `token`."""

    def __init__(self, guard: Guard, endpoint: Endpoint) -> None:
        self._guard = guard
        self._endpoint = endpoint
        self.port = 0
        self.token = os.urandom(16).hex()
        self.refused: str | None = None
        """The reason why a request was refused, if one was."""
        pair = f"{USER}:{self.token}".encode()
        self._pass = b"proxy-authorization: basic " + base64.b64encode(pair).lower()
        self._open: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, EOFError, asyncio.LimitOverrunError):
            pass  # one side has closed the connection, or the client does not speak HTTP
        finally:
            self._open.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(PATIENCE):
            head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        if self._pass not in [line.lower() for line in lines]:
            writer.write(
                _answer(
                    "407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="import"'
                )
            )
            return
        method, target, _ = first.decode("latin-1").split(" ", 2)
        try:
            path = self._path(method, target)
            there = await self._dial()
        except Refused as error:
            self.refused = str(error)
            writer.write(_answer("403 Refused"))
            return
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        else:
            kept = [line for line in lines if not line.lower().startswith(DROPPED)]
            begin = f"{method} {path} HTTP/1.1".encode("latin-1")
            there[1].write(b"\r\n".join([begin, *kept, b"Connection: close", b"", b""]))
        await _tunnel((reader, writer), there)

    def _path(self, method: str, target: str) -> str:
        """Return the path that the program requests. Raises Refused for another server."""
        asked = self._guard.endpoint(f"https://{target}" if method == "CONNECT" else target)
        if (asked.host, asked.port) != (self._endpoint.host, self._endpoint.port):
            raise Refused(asked.authority, "not where the import is from")
        return asked.target

    async def _dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        addresses = await self._guard.resolve(self._endpoint)
        problem: OSError | None = None
        for address in addresses:
            try:
                async with asyncio.timeout(PATIENCE):
                    return await asyncio.open_connection(address, self._endpoint.port)
            except OSError as error:  # also TimeoutError
                problem = error
        raise problem or OSError("no address")

    def explain(self, error: CommandFailed, denied: Sequence[str]) -> Exception:
        """Return why a program behind the proxy failed. The texts in `denied` mean that the
        server denied access.
        """
        if self.refused is not None:
            return ImportProblem("error", self.refused)
        return ImportProblem("auth_failed") if error.says_any(denied) else error

    async def end(self) -> None:
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)


StreamPair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _tunnel(here: StreamPair, there: StreamPair) -> None:
    """Copy data in both directions, until the server has sent everything."""
    sending = asyncio.ensure_future(_pass_on(here[0], there[1]))
    try:
        await _pass_on(there[0], here[1])
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        there[1].close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(CHUNK):
        writer.write(part)
        await writer.drain()
    with contextlib.suppress(OSError):
        if writer.can_write_eof():
            writer.write_eof()


def _answer(status: str, *lines: str) -> bytes:
    listed = [f"HTTP/1.1 {status}", *lines, "Content-Length: 0", "Connection: close", "", ""]
    return "\r\n".join(listed).encode()


@asynccontextmanager
async def proxy_to(guard: Guard, endpoint: Endpoint) -> AsyncIterator[ImportProxy]:
    """Run a proxy for the duration of a block."""
    proxy = ImportProxy(guard, endpoint)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.end()
