"""Request bodies: reading with limits on size, time and the memory of all, and parsing as JSON."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, TypeVarTuple

import orjson
from starlette.types import Receive, Scope

from hub.http.body_memory import BodyMemory, Upload
from hub.http.errors import BodyTooLong, ClientGone, Malformed, TooLarge, TooSlow, Unsupported
from store.errors import Busy

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# Larger bodies are processed outside the event loop, so that other requests do not wait.
LARGE = 64 * 1024
# A body beyond its limit is read and discarded, up to this many times the limit.
DRAIN_FACTOR = 4
# The only whitespace around a JSON text (RFC 8259, section 2). `bytes.strip` removes more.
JSON_WHITESPACE = b" \t\r\n"
# Other values, such as a charset, come from senders whose bodies are plain.
COMPRESSIONS = {b"gzip", b"x-gzip", b"deflate", b"br", b"zstd", b"compress", b"x-compress"}
# The parser's message if the system refuses memory, which a limit may be the reason for.
NO_MEMORY = "Not enough memory"


class IncomingRequest(Protocol):
    """A request whose body can be read."""

    @property
    def scope(self) -> Scope: ...
    @property
    def headers(self) -> Mapping[bytes, bytes]: ...
    @property
    def receive(self) -> Receive: ...


class BodyReader:
    """Reads bodies and counts the bytes in memory until they are given back.

    `seconds` is the time for one body.
    """

    def __init__(self, memory: BodyMemory, seconds: float) -> None:
        self._memory = memory
        self._seconds = seconds
        self.give_back, self._reserve = memory.give_back, memory.reserve

    async def read(self, request: IncomingRequest, limit: int) -> bytes:
        """Return the body. The caller must call `give_back(len(body))` once it is done with it.

        Raises TooLarge beyond `limit` bytes (without reading if Content-Length says so), TooSlow
        after the deadline, Busy if all bodies together need too much memory, Malformed for a bad
        Content-Length, Unsupported for a compressed body, and ClientGone if the client disconnects.
        """
        if given := request.headers.get(b"content-encoding"):
            _check_encoding(given)
        declared = request.headers.get(b"content-length", b"0")
        if not declared.isdigit():
            raise Malformed("Content-Length is not a number")
        if len(declared) > 15 or int(declared) > limit:
            # The HTTP server reads and discards the rest, so that the client sees the response.
            raise _too_large(limit)
        message = await request.receive()
        if message["type"] != "http.request" or message.get("more_body"):
            return await self._parts(request, message, limit)
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit)
        self._reserve(request.scope, len(body))
        return body

    async def read_and_release(self, request: IncomingRequest, limit: int) -> bytes:
        """Return the body like `read`, and count it no more: its caller is soon done with it."""
        body = await self.read(request, limit)
        self.give_back(len(body))
        return body

    async def _parts(
        self, request: IncomingRequest, message: Mapping[str, object], limit: int
    ) -> bytes:
        deadline = asyncio.timeout(self._seconds)
        upload = self._memory.begin(request.scope, deadline)
        try:
            async with deadline:
                return await self._rest(upload, message, request.receive, limit)
        except TimeoutError:
            # Raises Busy if the upload made room for others.
            self._memory.add(upload, 0)
            raise TooSlow(f"the body was not complete within {self._seconds:g} seconds") from None

    async def _rest(
        self, upload: Upload, message: Mapping[str, object], receive: Receive, limit: int
    ) -> bytes:
        chunks: list[bytes] = []
        try:
            while True:
                chunk = _chunk(message)
                if upload.size + len(chunk) > limit:
                    raise _too_large(limit, await _drain(message, receive, DRAIN_FACTOR * limit))
                self._memory.add(upload, len(chunk))
                chunks.append(chunk)
                if not message.get("more_body"):
                    return b"".join(chunks)
                message = await receive()
        except BaseException:
            self.give_back(upload.size)
            raise
        finally:
            self._memory.end(upload)


def _check_encoding(given: bytes) -> None:
    codings = {coding.strip() for coding in given.lower().split(b",")}
    if codings & COMPRESSIONS:
        raise Unsupported(
            f"The body is compressed (Content-Encoding: {given.decode('latin-1')[:100]})."
            " Send it uncompressed.",
            headers=[(b"accept-encoding", b"identity")],
        )


def _chunk(message: Mapping[str, object]) -> bytes:
    if message["type"] != "http.request":
        raise ClientGone
    chunk = message.get("body", b"")
    assert isinstance(chunk, bytes)
    return chunk


async def _drain(message: Mapping[str, object], receive: Receive, limit: int) -> type[TooLarge]:
    """Read and discard the rest. A client that is still sending does not see a response."""
    size = 0
    while message.get("more_body"):
        if size > limit:
            return BodyTooLong
        message = await receive()
        size += len(_chunk(message))
    return TooLarge


def _too_large(limit: int, kind: type[TooLarge] = TooLarge) -> TooLarge:
    return kind(f"The body is larger than the limit of {limit} bytes ({limit / 2**20:.4g} MB).")


async def apart(body: bytes, work: Callable[[*Ts], T], *given: *Ts) -> T:
    """Return `work(*given)`, which takes long for a large body. It then runs on a thread."""
    if len(body) > LARGE:
        return await asyncio.to_thread(work, *given)
    return work(*given)


def read_json(raw: bytes) -> Any:
    """Parse JSON. Raises Malformed for anything else, and Busy without memory for it."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        if NO_MEMORY in str(error):
            # The sender would not repeat an event that is answered 400.
            raise Busy("there is not enough memory for the body; try again in a moment") from None
        raise Malformed("Problems parsing JSON") from None


def read_object(raw: bytes) -> dict[str, Any]:
    """Parse a JSON object. Raises Malformed for anything else."""
    content = read_json(raw)
    if not isinstance(content, dict):
        raise Malformed("Body should be a JSON object")
    return content
