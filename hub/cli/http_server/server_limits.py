"""The limits of an HTTP server, from the settings and from the limit on open files."""

import resource
from dataclasses import dataclass, field

from hub.http.client_address import ClientAddresses, is_loopback, network_of
from hub.server_settings import KEEP_ALIVE
from hub.settings import HubSettings

# The default maximum of connections: each may hold a head and a part of a body in memory.
MOST = 4096
# Files that are reserved beside deliveries: kept connections to endpoints, the database, the log.
BESIDE = 512
# By default, one address may have 1/SHARE of all connections.
SHARE = 4


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits on connections, headers and times of a server. Times are in seconds."""

    header_bytes: int = 64 * 1024
    headers: int = 100
    header_timeout: float = 20.0
    keep_alive_timeout: float = KEEP_ALIVE
    body_timeout: float = 60.0
    """The time for the rest of a body whose request is already answered."""
    write_timeout: float = 60.0
    """The time within which a client has to receive a part of a response. Otherwise the server
    closes the connection.
    """
    connections: int = MOST
    connections_per_address: int = MOST // SHARE
    loopback_counts: bool = False
    """Whether loopback addresses have a limit. By default they have none, as a proxy may use
    them.
    """
    proxies: ClientAddresses = field(default_factory=lambda: ClientAddresses([]))
    documentation_url: str = ""

    def group_of(self, address: str) -> str | None:
        """Return the network that an address is counted with, or None if it has no limit."""
        if self.proxies.is_proxy(address):
            return None
        if not self.loopback_counts and is_loopback(address):
            return None
        return network_of(address)


def limits_of(settings: HubSettings, max_in_flight: int) -> ServerLimits:
    """Return the limits from the settings. Up to `max_in_flight` deliveries need files too."""
    most = settings.max_connections or spare_files(max_in_flight)
    each = settings.max_connections_per_address
    return ServerLimits(
        header_bytes=settings.max_header_bytes,
        headers=settings.max_headers,
        header_timeout=settings.header_timeout,
        keep_alive_timeout=settings.keep_alive_timeout,
        body_timeout=settings.body_timeout,
        connections=most,
        connections_per_address=each or max(most // SHARE, 1),
        loopback_counts=each is not None,
        proxies=ClientAddresses(settings.trusted_proxies),
        documentation_url=settings.documentation(),
    )


def spare_files(max_in_flight: int) -> int:
    """Return how many connections the limit on open files allows beside deliveries.

    It is at least a quarter of that limit, because a hub without connections is of no use.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MOST
    return min(max(limit - max_in_flight - BESIDE, limit // 4, 1), MOST)
