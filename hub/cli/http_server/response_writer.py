"""Responses that need one write: the head waits for the first part of the body."""

import asyncio
from collections.abc import Callable

# Beyond this size, a second write costs less than copying the body behind the head.
ONE_WRITE = 65536
CONTINUE = b"HTTP/1.1 100 "
# uvicorn writes names in lower case. Emacs's ghub reads the next page from `Link` alone, and would
# take the first page for the whole list.
LINK, LINK_WITH_CAPITAL = b"\r\nlink: ", b"\r\nLink: "


class ResponseWriter:
    """The transport of a connection, as its responses use it.

    uvicorn writes a response's head and body one after the other. Each write is a call of the
    system and a packet. Here the head is held for the body, until the next pass of the event loop
    at the latest. The bytes keep their order.
    """

    __slots__ = ("_close", "_held", "_loop", "_transport", "is_head_next")

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        close: Callable[[], None] | None = None,
    ) -> None:
        self._transport, self._loop = transport, loop
        self._close = close or transport.close
        self._held = b""
        self.is_head_next = False
        """Whether a response begins with the next data."""

    def write(self, data: bytes) -> None:
        """Write data, together with the data that is held. If none is held, hold this."""
        if self.is_head_next and not data.startswith(CONTINUE):
            self.is_head_next = False
            data = data.replace(LINK, LINK_WITH_CAPITAL)
        held = self._held
        if not held:
            self._held = data
            self._loop.call_soon(self.flush)
        elif len(data) <= ONE_WRITE:
            self._held = b""
            self._transport.write(held + data)
        else:
            self.flush()
            self._transport.write(data)

    def flush(self) -> None:
        """Write the data that is held."""
        held, self._held = self._held, b""
        if held and not self._transport.is_closing():
            self._transport.write(held)

    def close(self) -> None:
        """Write the data that is held, and close the connection, or call the given `close`."""
        self.flush()
        self._close()

    def is_closing(self) -> bool:
        """Return whether the connection is closed, or about to be."""
        return self._transport.is_closing()
