"""A server and raw clients for tests of connections."""

import asyncio
import json
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

from assertions import assert_documented
from certificate_authority import Authority
from waiting import PATIENCE

from hub.cli.http_server.connection_limiter import ConnectionLimiter
from hub.cli.http_server.server_limits import ServerLimits
from hub.rest.metrics import HubMetrics

DOCS = "https://forge.example/docs"
LIMITS = ServerLimits(documentation_url=DOCS)
NEXT = b'<https://forge.example/issues?page=2>; rel="next"'


class App:
    """An ASGI app that responds, once `may` is set, with the names of the request's headers.

    A query string `N` requests N bytes instead. `/body` first reads the request's body into
    `bodies`, and `/watch` waits for the disconnect.
    """

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.may.set()
        self.began = asyncio.Event()
        self.left = asyncio.Event()
        self.paths: list[str] = []
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            return
        self.paths.append(scope["path"])
        self.began.set()
        if scope["path"] in ("/body", "/watch"):
            message = await receive()
            body = message.get("body", b"")
            while message.get("more_body") or (scope["path"] == "/watch" and "body" in message):
                message = await receive()
                body += message.get("body", b"")
            self.bodies.append(body)
            if message["type"] == "http.disconnect":
                self.left.set()
        await self.may.wait()
        size = int(scope["query_string"] or 0)
        content = b"x" * size or json.dumps(sorted(name.decode() for name, _ in scope["headers"]))
        sent = content if isinstance(content, bytes) else content.encode()
        headers = [(b"content-length", str(len(sent)).encode()), (b"link", NEXT)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": sent})


class Client:
    """A client's connection, without an HTTP library."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        async with asyncio.timeout(PATIENCE):
            line = await self.reader.readline()
            headers = {}
            while (field := await self.reader.readline()).strip():
                name, _, value = field.decode().partition(":")
                assert name not in headers
                headers[name] = value.strip()
            body = await self.reader.readexactly(int(headers["content-length"]))
        return int(line.split()[1]), headers, body

    async def refusal(self) -> tuple[int, str]:
        """Check that the server sends an API error and closes. Return its status and message."""
        status, headers, body = await self.answer()
        assert headers["connection"] == "close"
        assert headers["content-type"] == "application/json; charset=utf-8"
        content = json.loads(body)
        assert_documented(content["documentation_url"], DOCS)
        assert content["status"] == str(status)
        await self.ended()
        return status, content["message"]

    async def ended(self) -> bytes:
        """Return the bytes that arrive until the server closes the connection."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""

    def close(self) -> None:
        self.writer.transport.abort()


class World:
    """A server with its limiter and its clients."""

    def __init__(self, folder: Path, *, tls: bool) -> None:
        self.app = App()
        self.metrics = HubMetrics()
        self.limiter = ConnectionLimiter(LIMITS, self.metrics)
        self.trusting: ssl.SSLContext | None = None
        self.context: ssl.SSLContext | None = None
        self.clients: list[Client] = []
        self.port = 0
        # A short `header_timeout` in seconds, which is long enough for a TLS handshake.
        self.soon = 3.0 if tls else 0.1
        if tls:
            authority = Authority(folder)
            authority.issue("one")
            self.trusting = authority.trusting
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(folder / "one.crt", folder / "one.key")

    def limit(self, **limits: Any) -> None:
        self.limiter.limits = replace(self.limiter.limits, **limits)

    async def connect(self, *, secure: bool = True, address: str = "127.0.0.1") -> Client:
        context = self.trusting if secure else None
        there = await asyncio.open_connection(
            "127.0.0.1",
            self.port,
            ssl=context,
            server_hostname="localhost" if context else None,
            local_addr=(address, 0),
        )
        self.clients.append(Client(*there))
        return self.clients[-1]

    def dropped(self) -> dict[str, float]:
        return {key[0]: count for key, count in self.metrics.dropped.values().items() if count}

    def answered(self) -> dict[tuple[str, ...], float]:
        """Return how many requests were answered, keyed by door and status."""
        return {key: count for key, count in self.metrics.requests.values().items() if count}
