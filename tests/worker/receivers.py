"""Receivers on loopback sockets: some answer well, and others violate HTTP or never answer."""

import asyncio
import datetime
import ipaddress
import re
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from local_server import listening

Handler = Callable[["Call"], Awaitable[None]]
# The networks of the receivers, which a guard has to allow.
LOOPBACK = ["127.0.0.0/8", "::1/128"]
LENGTH = re.compile(rb"(?i)\r\nContent-Length: *(\d+)\r")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Call:
    """One accepted connection. `receiver` records the requests of all its connections."""

    def __init__(
        self, receiver: "Receiver", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.receiver, self.reader, self.writer = receiver, reader, writer

    async def request(self) -> bytes:
        """Read a whole request and return its body. Raise IncompleteReadError if none comes."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = LENGTH.search(head)
        body = await self.reader.readexactly(int(length[1]) if length else 0)
        self.receiver.heads.append(head)
        self.receiver.bodies.append(body)
        self.receiver.asked.set()
        return body

    async def say(self, *parts: bytes) -> None:
        """Write each part separately. Raise ConnectionResetError if the client has left."""
        for part in parts:
            if self.writer.is_closing():
                # Event loops differ in whether and how they report this.
                raise ConnectionResetError("the client has left")
            self.writer.write(part)
            await self.writer.drain()
            await asyncio.sleep(0)

    async def gone(self) -> None:
        """Wait until the client has closed the connection."""
        while await self.reader.read(65536):
            pass

    def reset(self) -> None:
        """Close the connection with a TCP reset."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class Receiver:
    """The record of a receiver.

    It has the number of `connections`, the local address of each in `hosts`, and the `heads` and
    `bodies` of whole requests. `asked` is set after the first request. `closed` is set when a
    connection has ended.
    """

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.hosts: list[str] = []
        self.asked = asyncio.Event()
        self.closed = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?x=%41"


@asynccontextmanager
async def serving(
    handler: Handler,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[Receiver]:
    """Run `handler` for each connection. The connection is closed when the handler returns."""
    receiver = Receiver()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        receiver.connections += 1
        receiver.hosts.append(writer.get_extra_info("sockname")[0])
        try:
            await handler(Call(receiver, reader, writer))
        finally:
            receiver.closed.set()

    listens = listening(accepted, host, port, ssl=context, limit=2**20)
    async with listens as receiver.port:
        yield receiver


async def ok(call: Call) -> None:
    """Answer every request on the connection with 200."""
    while True:
        await call.request()
        await call.say(OK)


def says(*parts: bytes, close: bool = False) -> Handler:
    """Return a handler that answers every request with `parts`, each written separately."""

    async def handler(call: Call) -> None:
        while True:
            await call.request()
            await call.say(*parts)
            if close:
                return

    return handler


def repeats(start: bytes, again: bytes, pause: float = 0) -> Handler:
    """Return a handler that sends `start` and then `again` for ever, every `pause` seconds."""

    async def handler(call: Call) -> None:
        await call.request()
        await call.say(start)
        while True:
            await call.say(again)
            await asyncio.sleep(pause)

    return handler


async def silent(call: Call) -> None:
    """Read the request and never answer."""
    await call.request()
    await call.gone()


async def deaf(call: Call) -> None:
    """Read nothing and never answer."""
    call.writer.transport.pause_reading()  # type: ignore[attr-defined]
    await asyncio.Event().wait()


def self_signed(directory: Path) -> tuple[ssl.SSLContext, bytes]:
    """A server's TLS context for localhost, 127.0.0.1 and hook.example, and its certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hook.example")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    names = [x509.DNSName("localhost"), x509.DNSName("hook.example")]
    addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([*names, *addresses]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    file = directory / "receiver.pem"
    file.write_bytes(
        pem
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context, pem
