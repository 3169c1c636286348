"""What a client has not taken of an answer."""

import asyncio


class Unsent:
    """Looked at now and then, on a connection's transports: for TLS that and the one below."""

    __slots__ = ("_since", "_transports", "size")

    def __init__(self, *transports: asyncio.Transport) -> None:
        self._transports = transports
        self.size = 0
        """Bytes, when it was looked at last."""
        self._since = 0.0

    def is_moving(self, now: float, seconds: float) -> bool:
        """Whether there is something, and has been less or more of it within so many seconds."""
        size = sum(one.get_write_buffer_size() for one in self._transports)
        if size != self.size:
            self.size, self._since = size, now
        return size > 0 and now < self._since + seconds
