"""The channel between the worker and a sender process: a socket pair with groups of messages.

The messages of one pass of the event loop are one frame: four bytes with its length, then a list of
messages. Both ends run the same code of the same interpreter, so `marshal` is the encoding. It is
the fastest one, and it keeps bytes as they are.
"""

import asyncio
import marshal
import socket
from collections.abc import Callable, Iterator
from typing import Any, cast

LENGTH = 4  # bytes of a frame's length

Message = tuple[Any, ...]
"""The number of a message's kind, and its fields."""


class MessageChannel(asyncio.Protocol):
    """One end of a channel.

    `on_message` is called with each message. `on_lost` is called once, when the channel has ended.
    """

    def __init__(self, on_message: Callable[[Message], None], on_lost: Callable[[], None]) -> None:
        self._on_message, self._on_lost = on_message, on_lost
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._unsent: list[Message] = []
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(
        cls,
        end: socket.socket,
        on_message: Callable[[Message], None],
        on_lost: Callable[[], None],
    ) -> "MessageChannel":
        """Return the channel over this end of a socket pair."""
        loop = asyncio.get_running_loop()
        _, channel = await loop.create_unix_connection(lambda: cls(on_message, on_lost), sock=end)
        return channel

    def send(self, message: Message) -> None:
        """Send a message, together with the others of this pass of the event loop."""
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(message)

    def _flush(self) -> None:
        messages, self._unsent = self._unsent, []
        if self._transport is not None and not self._transport.is_closing():
            frame = marshal.dumps(messages)
            self._transport.write(len(frame).to_bytes(LENGTH, "big") + frame)

    def close(self) -> None:
        """End the channel. Messages that are not sent yet are dropped."""
        if self._transport is not None:
            self._transport.abort()

    # The callbacks of asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Cast and not asserted: uvloop's transports do not inherit from asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        for message in self._whole_frames():
            self._on_message(message)

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost()

    def _whole_frames(self) -> Iterator[Message]:
        received = self._received
        while len(received) >= LENGTH:
            end = LENGTH + int.from_bytes(received[:LENGTH], "big")
            if len(received) < end:
                return
            frame = bytes(memoryview(received)[LENGTH:end])
            del received[:end]
            yield from marshal.loads(frame)  # noqa: S302 - the other end is our own process
