"""Request bodies: reading with limits on size, time and the memory of all, and parsing as JSON."""

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson
from starlette.types import Receive

from hub.http.errors import BodyTooLong, ClientGone, Malformed, TooLarge, TooSlow
from store.errors import Busy

# Larger bodies are processed outside the event loop, so that other requests do not wait.
LARGE = 64 * 1024
# A body beyond its limit is read and discarded, up to this many times the limit.
DRAIN_FACTOR = 4
# The only whitespace around a JSON text (RFC 8259, section 2). `bytes.strip` removes more.
JSON_WHITESPACE = b" \t\r\n"


class BodyReader:
    """Reads bodies and counts the bytes in memory until they are given back.

    `most` is the limit for all bodies together, in bytes; `seconds` is the time for one body.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self.held = 0

    async def read(self, headers: Mapping[bytes, bytes], receive: Receive, limit: int) -> bytes:
        """Return the body. The caller must call `give_back(len(body))` once it is done with it.

        Raises TooLarge beyond `limit` bytes (without reading if Content-Length says so), TooSlow
        after the deadline, Busy if all bodies together need too much memory, Malformed for a bad
        Content-Length, and ClientGone if the client disconnects.
        """
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit():
            raise Malformed("Content-Length is not a number")
        if len(declared) > 15 or int(declared) > limit:
            # The HTTP server reads and discards the rest, so that the client sees the response.
            raise _too_large(limit)
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            return self._whole(message.get("body", b""), limit)
        try:
            async with asyncio.timeout(self._seconds):
                return await self._rest(message, receive, limit)
        except TimeoutError:
            raise TooSlow(f"the body was not complete within {self._seconds:g} seconds") from None

    def _whole(self, body: bytes, limit: int) -> bytes:
        if len(body) > limit:
            raise _too_large(limit)
        self._reserve(len(body))
        return body

    async def _rest(self, message: Mapping[str, object], receive: Receive, limit: int) -> bytes:
        chunks: list[bytes] = []
        size = 0
        try:
            while True:
                chunk = _chunk(message)
                if size + len(chunk) > limit:
                    raise _too_large(limit, await _drain(message, receive, DRAIN_FACTOR * limit))
                self._reserve(len(chunk))
                size += len(chunk)
                chunks.append(chunk)
                if not message.get("more_body"):
                    return b"".join(chunks)
                message = await receive()
        except BaseException:
            self.give_back(size)
            raise

    def _reserve(self, size: int) -> None:
        if self.held + size > self._most:
            raise Busy("too many large bodies are being received; try again in a moment")
        self.held += size

    def give_back(self, size: int) -> None:
        """Release `size` bytes that are no longer in memory."""
        self.held -= size


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


def read_json(raw: bytes) -> Any:
    """Parse JSON. Raises Malformed for anything else."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise Malformed("Problems parsing JSON") from None


def read_object(raw: bytes) -> dict[str, Any]:
    """Parse a JSON object. Raises Malformed for anything else."""
    content = read_json(raw)
    if not isinstance(content, dict):
        raise Malformed("Body should be a JSON object")
    return content
