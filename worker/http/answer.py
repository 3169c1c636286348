"""The result of an exchange with a receiver."""

import os
import re
import socket
import ssl
from typing import ClassVar

# This many bytes of an answer's body are read and recorded, unless a caller asks for others.
MAX_BODY = 65536
_BODY = re.compile(rb"\ncontent-length:[ \t]*0*[1-9]")
_LENGTH = re.compile(rb"(?im)^(?:content-length:|transfer-encoding:.*chunked)")


class Withheld(Exception):
    """A request was not sent, because it was no longer allowed at the last moment."""


class Shortage(Withheld):
    """A request was not sent, because the system gives this process no more of something."""

    # mypyc gives exceptions no defaults of other attributes.
    lacking: ClassVar[str] = ""


class NoDescriptor(Shortage):
    """A request was not sent, because this process may open no more files and connections."""

    lacking: ClassVar[str] = "a file descriptor"


class NoThread(Shortage):
    """A request was not sent, because this process may start no thread to resolve a name."""

    lacking: ClassVar[str] = "a thread"


class ExchangeResult:
    """The answer to a request, or the error.

    The members are:
    - `status` is None if no complete head came.
    - `head` is the header block as it was received, without the status line and the blank line.
    - `body` is the first bytes of the body, as they were sent. Nothing is decompressed.
    - `truncated` says whether the body has more bytes.
    - `address` is the address that was dialled.
    - `timings` are microseconds by stage: resolve, connect, tls, wait (from the written request to
      the first byte), read, total.
    - `signatures` are the header lines that a sender process has added to the request.
    - `error` is "stage: message" or None. The stages are guard, resolve, connect, tls, send, wait,
      read, protocol and timeout. After timeout, the message names the stage that took too long.
    """

    __slots__ = (
        "address", "body", "error", "head", "signatures", "status", "timings", "truncated",
    )  # fmt: skip

    def __init__(self) -> None:
        self.status: int | None = None
        self.head = b""
        self.body = b""
        self.truncated = False
        self.address: str | None = None
        self.timings: dict[str, int] = {}
        self.error: str | None = None
        self.signatures = ""

    @classmethod
    def failed(cls, error: str) -> "ExchangeResult":
        """Return the result of a request without an answer. `error` is "stage: message"."""
        result = cls()
        result.error = error
        return result

    @property
    def succeeded(self) -> bool:
        """Return whether the receiver took the request."""
        return self.error is None and self.status is not None and 200 <= self.status < 300

    def fields(self) -> list[tuple[bytes, bytes]]:
        """Return the headers in the order in which they came, with names in lower case."""
        lines = (line.partition(b":") for line in self.head.split(b"\r\n") if line)
        return [(name.lower(), value.strip(b" \t")) for name, _, value in lines]

    def announces_body(self) -> bool:
        """Return whether the head announces a body with content."""
        lowered = b"\n" + self.head.lower()
        return _BODY.search(lowered) is not None or b"\ntransfer-encoding:" in lowered

    def has_length(self) -> bool:
        """Return whether the head says where the body ends, if not with the connection."""
        return _LENGTH.search(self.head) is not None

    def __repr__(self) -> str:
        return f"ExchangeResult({self.status}, {len(self.body)} bytes, error={self.error!r})"


def internal_error(error: Exception) -> str:
    """Return the error of an attempt that a programming error ended."""
    return f"internal: {type(error).__name__}: {error}"


def error_text(error: BaseException) -> str:
    """Return the message of an error, without its number. If there is none, return its class's
    name.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {error.verify_message}"
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    return str(getattr(error, "strerror", None) or error) or type(error).__name__
