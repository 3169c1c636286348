"""The limits of an HTTP server, from the settings and from how many files may be open."""

import ipaddress
import resource
from dataclasses import dataclass, field

from hub.http.client_address import ClientAddresses, network_of
from hub.settings import HubSettings

# Connections at once where the settings do not say: each may hold a head and a piece of a body.
MOST = 4096
# Files beside requests in flight: kept connections to endpoints, the database, the log.
BESIDE = 512
# Of all connections an address may have one in so many.
SHARE = 4


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What a server takes from those who connect. Times are in seconds."""

    header_bytes: int = 64 * 1024
    headers: int = 100
    header_timeout: float = 20.0
    keep_alive_timeout: float = 5.0
    body_timeout: float = 60.0
    """For the rest of a body whose request was answered before."""
    write_timeout: float = 60.0
    """For taking something of an answer: who takes nothing for so long is not there any more."""
    connections: int = MOST
    connections_per_address: int = MOST // SHARE
    loopback_counts: bool = False
    """Whether this machine's own addresses have a bound: a proxy may be behind them."""
    proxies: ClientAddresses = field(default_factory=lambda: ClientAddresses([]))
    documentation_url: str = ""

    def group_of(self, address: str) -> str | None:
        """What an address is counted with; None where it has no bound of its own."""
        if self.proxies.is_proxy(address):
            return None
        if not self.loopback_counts and _is_loopback(address):
            return None
        return network_of(address)


def _is_loopback(address: str) -> bool:
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(number, "ipv4_mapped", None)
    return bool((mapped or number).is_loopback)


def limits_of(settings: HubSettings, max_in_flight: int) -> ServerLimits:
    """The limits that the settings set, beside so many requests in flight."""
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
    """How many connections the limit of open files leaves beside the deliveries: at least a quarter
    of it, for a hub without connections is of no use.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MOST
    return min(max(limit - max_in_flight - BESIDE, limit // 4, 1), MOST)
