"""The result of an exchange with a receiver."""

import os
import socket
import ssl

MAX_BODY = 65536


class Withheld(Exception):
    """A request was not sent, because at the last moment it was no longer allowed."""


class ExchangeResult:
    """The answer to a request, or the error.

    `status` is None when no complete head came. `head` is the header block as it was received,
    without the status line and the blank line; `body` the first bytes of the body, as they were
    sent (nothing is decompressed), `truncated` when there was more. `address` was dialled.
    `timings` are microseconds by stage: resolve, connect, tls, wait (request written to first
    byte), read, total. `error` is "stage: message" or None; stages: guard, resolve, connect, tls,
    send, wait, read, protocol, and timeout, which names the stage it happened in.
    """

    __slots__ = ("address", "body", "error", "head", "status", "timings", "truncated")

    def __init__(self) -> None:
        self.status: int | None = None
        self.head = b""
        self.body = b""
        self.truncated = False
        self.address: str | None = None
        self.timings: dict[str, int] = {}
        self.error: str | None = None

    def fields(self) -> list[tuple[bytes, bytes]]:
        """The headers, names in lower case, in the order in which they came."""
        lines = (line.partition(b":") for line in self.head.split(b"\r\n") if line)
        return [(name.lower(), value.strip(b" \t")) for name, _, value in lines]

    def __repr__(self) -> str:
        return f"ExchangeResult({self.status}, {len(self.body)} bytes, error={self.error!r})"


def error_text(error: BaseException) -> str:
    """The message of an error, without its number. If there is none, the name of its class."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {error.verify_message}"
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    return str(getattr(error, "strerror", None) or error) or type(error).__name__
