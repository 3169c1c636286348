"""The bytes of a response that a client has not received yet."""

import asyncio


class Unsent:
    """The unsent bytes of a connection, measured at intervals.

    `transports` are the connection's transports: for TLS also the TCP transport below.
    """

    __slots__ = ("_since", "_transports", "size")

    def __init__(self, *transports: asyncio.Transport) -> None:
        self._transports = transports
        self.size = 0
        """The unsent bytes at the last measurement."""
        self._since = 0.0

    def is_moving(self, now: float, seconds: float) -> bool:
        """Return whether there are unsent bytes, and their number changed within `seconds`."""
        size = sum(one.get_write_buffer_size() for one in self._transports)
        if size != self.size:
            self.size, self._since = size, now
        return size > 0 and now < self._since + seconds
