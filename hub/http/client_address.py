"""The address of a request's client."""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache

from starlette.types import Scope

UNKNOWN_ADDRESS = "unknown"
MAX_HOPS = 100
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ClientAddresses:
    """Finds the address of a client, also behind the proxies in the networks `trusted`.

    Only trusted proxies are believed about X-Forwarded-For. An IPv6 client counts as its whole /64.
    """

    def __init__(self, trusted: Sequence[str]) -> None:
        self._trusted: list[Network] = [ipaddress.ip_network(network) for network in trusted]

    def address(self, scope: Scope) -> str:
        """Return the address that identifies the client: for IPv6, its /64 network."""
        return network_of(self.origin(scope))

    def origin(self, scope: Scope) -> str:
        """Return the client's exact address."""
        client = scope.get("client")
        peer: str = client[0] if client else UNKNOWN_ADDRESS
        if self._trusted and self.is_proxy(peer):
            for hop in reversed(_hops(scope)):
                peer = hop
                if not self.is_proxy(hop):
                    break
        return peer[:MAX_HOPS]

    def is_proxy(self, address: str) -> bool:
        """Return whether a trusted proxy has this address."""
        try:
            number = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(number in network for network in self._trusted)


def is_loopback(address: str) -> bool:
    """Return whether this is a loopback address, also an IPv4 one that is mapped to IPv6."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(number, "ipv4_mapped", None)
    return bool((mapped or number).is_loopback)


def _hops(scope: Scope) -> list[str]:
    """Return the addresses in X-Forwarded-For, the nearest last.

    Everything before an invalid address is ignored.
    """
    named = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
    hops: list[str] = []
    for part in reversed(named.decode("latin-1").split(",")):
        try:
            hops.insert(0, str(ipaddress.ip_address(part.strip())))
        except ValueError:
            break
    return hops


@lru_cache(maxsize=1024)
def network_of(address: str) -> str:
    """Return the address or, for IPv6, its /64 network."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(number, ipaddress.IPv4Address):
        return str(number)
    if number.ipv4_mapped is not None:
        return str(number.ipv4_mapped)
    return str(ipaddress.ip_network((int(number) >> 64 << 64, 64)))
