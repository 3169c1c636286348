"""How long a connection may be idle before its receiver is about to close it."""

from time import perf_counter

from worker.http.connection import HttpConnection, Origin

# A receiver that closed a connection after some idle time may close the next one a bit earlier. The
# network takes its time too.
SHARE = 0.5


class IdleLimits:
    """The idle times after which receivers close connections, for up to `most` origins.

    If a request is sent just when its receiver closes the connection, the attempt fails. So a
    connection is used again only within a share of that time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.seconds: dict[Origin, float] = {}
        """The time within which a connection may be used again, by origin."""

    def is_exceeded(self, connection: HttpConnection) -> bool:
        """Return whether an idle connection must not be used again."""
        seconds = self.seconds.get(connection.origin)
        return seconds is not None and perf_counter() - connection.since > seconds

    def learn(self, connection: HttpConnection) -> None:
        """Record how long a closed connection was idle, if its receiver closed it."""
        if connection.closed_after is None:
            return
        self.seconds[connection.origin] = connection.closed_after * SHARE
        if len(self.seconds) > self._most:
            del self.seconds[next(iter(self.seconds))]

    def forget(self, origin: Origin) -> None:
        """Record that a receiver has kept a connection for as long as this side keeps one."""
        self.seconds.pop(origin, None)
