"""The limits on a server's connections, and the eviction of idle connections for new ones."""

import asyncio
import logging
from typing import Protocol

from hub.cli.http_server.server_limits import ServerLimits
from hub.http.errors import HubError, status_of
from hub.http.throttled_log import ThrottledLog
from hub.rest.metrics import HubMetrics

log = logging.getLogger("tocsin.server")


def address_of(transport: asyncio.Transport) -> str | None:
    """Return the client's address of a connection, or None for a Unix socket."""
    name = transport.get_extra_info("peername")
    return name[0] if isinstance(name, tuple) else None


class IdleConnection(Protocol):
    """A connection that waits for a request."""

    def evict(self) -> None:
        """Close the connection and leave the limiter at once."""


class Peer:
    """The clients that share a limit: their open connections, and which of them wait for a request.

    `waiting` begins with the connection that has waited longest.
    """

    __slots__ = ("group", "open", "waiting")

    def __init__(self, group: str | None) -> None:
        self.group = group
        self.open = 0
        self.waiting: dict[IdleConnection, None] = {}


class ConnectionLimiter:
    """Admits connections up to the limits: one for all clients, and one for each address.

    At a limit it evicts the connection that has waited longest for a request. An address with idle
    connections therefore does not block clients that send requests. If no connection waits, the new
    one is rejected.
    """

    def __init__(self, limits: ServerLimits, metrics: HubMetrics | None = None) -> None:
        self.limits = limits
        """The limits for new connections. Replacing them closes no connection."""
        self.open = 0
        self._metrics = metrics
        self._peers: dict[str | None, Peer] = {}
        # Each message has its own throttle: a frequent message must not hide a rare one.
        self._full, self._crowded, self._bad = (
            ThrottledLog(log),
            ThrottledLog(log),
            ThrottledLog(log),
        )

    def admit(self, address: str | None) -> Peer | None:
        """Count a new connection and return its peer, or return None to reject it.

        `address` is None for a Unix socket. Call `leave` when the connection ends.
        """
        group = None if address is None else self.limits.group_of(address)
        peer = self._peers.get(group) or Peer(group)
        if not (self._has_room_for(peer) and self._has_room()):
            return None
        self._peers[group] = peer
        peer.open += 1
        self.open += 1
        return peer

    def waiting(self) -> list[IdleConnection]:
        """Return the connections that process no request."""
        return [one for peer in self._peers.values() for one in peer.waiting]

    def leave(self, peer: Peer) -> None:
        """Count one connection less."""
        self.open -= 1
        peer.open -= 1
        if not peer.open:
            del self._peers[peer.group]

    def _has_room_for(self, peer: Peer) -> bool:
        most = self.limits.connections_per_address
        if peer.group is None or peer.open < most:
            return True
        message = "%s has %d connections, and max_connections_per_address allows no more"
        self._crowded.warning(message, peer.group, peer.open)
        return self._evict(peer, "address")

    def _has_room(self) -> bool:
        if self.open < self.limits.connections:
            return True
        message = "there are %d connections, and max_connections allows no more"
        self._full.warning(message, self.open)
        return self._evict(max(self._peers.values(), key=lambda one: len(one.waiting)), "full")

    def _evict(self, peer: Peer, otherwise: str) -> bool:
        found = next(iter(peer.waiting), None)
        if found is not None:
            found.evict()
        self._drop(otherwise if found is None else "evicted")
        return found is not None

    def timed_out(self) -> None:
        """Count a connection that was ended because its client was too slow."""
        self._drop("timeout")

    def refused(self, client: tuple[str, int] | None, error: HubError) -> None:
        """Log and count a request that was rejected before it reached the application."""
        self._bad.warning("a request from %s was refused: %s", client and client[0], error)
        if self._metrics is not None:
            self._metrics.requests.add("other", str(status_of(error)))

    def _drop(self, reason: str) -> None:
        if self._metrics is not None:
            self._metrics.dropped.add(reason)
