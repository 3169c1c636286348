"""Requests that offer another protocol (RFC 9110, section 7.8). They are answered in HTTP/1.1.

The parser takes their head for the end of the request, so another one reads the body.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from httptools import HttpRequestParser

from hub.http.response import Header

FRAMING = (b"content-length", b"transfer-encoding")


class NoMoreRequests(Exception):
    """The newest request is the last one, because it said so or too many others are pipelined."""


class BodyReceiver(Protocol):
    """The protocol of a connection, as the parser of a body calls it."""

    def on_body(self, body: bytes) -> None: ...
    def on_chunk_header(self) -> None: ...
    def on_message_complete(self) -> None: ...


class LastBody:
    """The receiver of a body after which the connection has no other request. It has no head."""

    def __init__(self, receiver: BodyReceiver) -> None:
        self.on_body: Callable[[bytes], None] = receiver.on_body
        self.on_chunk_header: Callable[[], None] = receiver.on_chunk_header
        self._on_message_complete = receiver.on_message_complete

    def on_message_complete(self) -> None:
        self._on_message_complete()
        raise NoMoreRequests


def has_body(headers: Sequence[Header]) -> bool:
    """Return whether a body follows a head with these headers. Their names are in lower case."""
    return any(name in FRAMING and value.strip(b" \t0") for name, value in headers)


def body_parser(headers: Sequence[Header], receiver: BodyReceiver) -> HttpRequestParser:
    """Return a parser for the body after a head with these headers.

    The connection's parser must have accepted them.
    """
    framing = b"".join(b"%s: %s\r\n" % header for header in headers if header[0] in FRAMING)
    parser = HttpRequestParser(LastBody(receiver))
    parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n")
    return parser
