"""Origins that read no request on a new connection while this side keeps an idle one."""

import asyncio
from collections.abc import Callable

from worker.http.connection import Origin

SHARE = 0.5
"""The part of its time after which a request waits for too long."""


class StarvedOrigins:
    """The origins at which a request waits for too long on a new connection.

    A server that serves one connection at a time, such as a simple one in Perl or Python, reads
    the request only when the idle connection is closed. `on_starved` is called with the origin.
    """

    def __init__(self, on_starved: Callable[[Origin], None]) -> None:
        self._on_starved = on_starved
        self._waiting: dict[Origin, int] = {}

    def __contains__(self, origin: Origin) -> bool:
        return origin in self._waiting

    def watch(self, origin: Origin, seconds: float) -> "FirstRequest":
        """Watch the first request of a new connection, from before it is dialled. It has `seconds`
        left.
        """
        return FirstRequest(origin, seconds * SHARE, self._add)

    def unwatch(self, first: "FirstRequest | None") -> None:
        """Stop watching a request, if there is one."""
        if first is None:
            return
        first.timer.cancel()
        if first.is_late:
            self._waiting[first.origin] -= 1
            if not self._waiting[first.origin]:
                del self._waiting[first.origin]

    def _add(self, origin: Origin) -> None:
        self._waiting[origin] = self._waiting.get(origin, 0) + 1
        self._on_starved(origin)


class FirstRequest:
    """The first request of a connection. After `seconds`, `on_late` is called with its origin."""

    def __init__(self, origin: Origin, seconds: float, on_late: Callable[[Origin], None]) -> None:
        self.origin, self._on_late = origin, on_late
        self.is_late = False
        self.timer = asyncio.get_running_loop().call_later(seconds, self._end)

    def _end(self) -> None:
        self.is_late = True
        self._on_late(self.origin)
