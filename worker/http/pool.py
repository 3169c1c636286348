"""The pool of idle connections. The next exchange with the same origin uses the freshest one."""

import asyncio
from contextlib import suppress
from time import perf_counter

from worker.http.connection import HttpConnection, Origin
from worker.http.idle_limits import IdleLimits
from worker.http.starved_origins import StarvedOrigins

CLOSE_SECONDS = 2.0
# Seconds after which a receiver may have closed a connection although the event loop has not read
# that yet. Under load, a pass of the event loop takes up to 10 ms.
FRESH_SECONDS = 0.02
# Seconds that a connection to a doubted origin waits before it is used again, and how many origins
# are remembered as doubted, and as closing idle connections.
DOUBTED_REST, MAX_DOUBTED = 0.1, 4096


class Pool:
    """The connections of one transport.

    `seconds` is how long an idle connection is kept. `per_origin` and `total` limit how many are
    kept. Beyond `total`, one of the origin that was idle for longest is closed.
    """

    def __init__(self, seconds: float, per_origin: int, total: int) -> None:
        self._seconds, self._per_origin, self._total = seconds, per_origin, total
        self._idle: dict[Origin, list[HttpConnection]] = {}
        self._count = 0
        self._doubted: dict[Origin, None] = {}
        self.fresh_seconds, self.doubted_rest = FRESH_SECONDS, DOUBTED_REST
        self.max_doubted = MAX_DOUBTED
        self.idle_limits = IdleLimits(MAX_DOUBTED)
        self.starved = StarvedOrigins(self._close_idle)
        self._open: set[HttpConnection] = set()
        self._unkept: set[HttpConnection] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._all_closed: asyncio.Event | None = None

    def __len__(self) -> int:
        """Return how many connections are open, idle or not."""
        return len(self._open)

    def is_doubted(self, origin: Origin) -> bool:
        """Return whether connections to an origin must wait before they are used again.

        They must if the origin closes connections without announcing it.
        """
        return origin in self._doubted

    def acquire(self, origin: Origin) -> HttpConnection | None:
        """Return an idle connection to an origin that its receiver has not closed, or None.

        Also return None if the receiver may be about to close it.
        """
        kept = self._idle.get(origin)
        doubted = origin in self._doubted
        while kept:
            if doubted and perf_counter() - kept[0].since < self.doubted_rest:
                return None
            if self.idle_limits.is_exceeded(kept[0 if doubted else -1]):
                self._keep_only_oldest(kept)
                return None
            connection = kept.pop(0 if doubted else -1)
            self._count_removed(origin, kept)
            if connection.is_usable(self.fresh_seconds):
                return connection
            connection.drop()
        return None

    def add(self, connection: HttpConnection) -> None:
        """Record a new connection."""
        self._open.add(connection)
        if self.closing:
            connection.drop()

    @property
    def closing(self) -> bool:
        """Return whether `close` was called. From then on, nothing is opened or kept."""
        return self._all_closed is not None

    def release(self, connection: HttpConnection) -> None:
        """Keep a connection for a later exchange."""
        if self.closing or connection in self._unkept:
            connection.drop()
            return
        if connection.origin in self.starved:
            connection.close()
            return
        if connection.exchanges > 1:
            self._doubted.pop(connection.origin, None)
        kept = self._idle.setdefault(connection.origin, [])
        kept.append(connection)
        self._count += 1
        if len(kept) > self._per_origin:
            self._remove(kept[0]).close()
        elif self._count > self._total:
            self._remove(next(iter(self._idle.values()))[0]).close()
        if self._sweeper is None:
            self._sweep_later()

    def on_closed(self, connection: HttpConnection) -> None:
        """Record that a connection is closed."""
        self._open.discard(connection)
        self._unkept.discard(connection)
        if connection.closed_early:
            self._doubt(connection.origin)
        self.idle_limits.learn(connection)
        if connection in self._idle.get(connection.origin, ()):
            self._remove(connection)
        if self._all_closed and not self._open:
            self._all_closed.set()

    def _doubt(self, origin: Origin) -> None:
        """Stop using connections to an origin at once.

        The origin closes them after an answer without announcing it, and a request that comes too
        late is a failed attempt. A connection that is seen to stay open ends the doubt.
        """
        self._doubted[origin] = None
        if len(self._doubted) > self.max_doubted:
            del self._doubted[next(iter(self._doubted))]

    def retire(self, most: int | None = None) -> None:
        """Keep none of the present connections.

        Idle ones are closed now, the others after their exchange. `most` replaces the limits on
        idle connections, of one origin and of all.
        """
        if most is not None:
            self._per_origin = self._total = most
        for connection in [one for kept in self._idle.values() for one in kept]:
            self._remove(connection).close()
        self._unkept |= self._open

    async def close(self) -> None:
        """Close all connections, also the ones in use, and wait until they are closed."""
        self._all_closed = asyncio.Event()
        if self._sweeper:
            self._sweeper.cancel()
        if not self._open:
            return
        for connection in list(self._open):
            connection.drop()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._all_closed.wait()

    def _close_idle(self, origin: Origin) -> None:
        for connection in list(self._idle.get(origin, ())):
            self._remove(connection).close()

    def _keep_only_oldest(self, kept: list[HttpConnection]) -> None:
        """Close connections that are not used again. The end of the oldest shows how long the
        receiver keeps one.
        """
        for connection in kept[1:]:
            self._remove(connection).close()

    def _remove(self, connection: HttpConnection) -> HttpConnection:
        kept = self._idle[connection.origin]
        kept.remove(connection)
        self._count_removed(connection.origin, kept)
        return connection

    def _count_removed(self, origin: Origin, kept: list[HttpConnection]) -> None:
        self._count -= 1
        if not kept:
            del self._idle[origin]

    def _sweep_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweeper = loop.call_later(self._seconds / 2, self._sweep)

    def _sweep(self) -> None:
        self._sweeper = None
        before = perf_counter() - self._seconds
        for connection in [one for kept in self._idle.values() for one in kept]:
            if connection.since <= before:
                self.idle_limits.forget(connection.origin)
                self._remove(connection).close()
        if self._idle:
            self._sweep_later()
