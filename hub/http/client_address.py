"""The address of a request's client."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from starlette.types import Scope

UNKNOWN_ADDRESS = "unknown"
LONGEST = 100
# The addresses in X-Forwarded-For that are read. No chain of proxies has more.
MOST_HOPS = 32
# Some proxies add the client's port, such as Azure Application Gateway.
WITH_PORT = re.compile(r"\[(.+)\](?::[0-9]+)?|([0-9.]+):[0-9]+")
# Headers that proxies add. A request with one of them is not a direct one.
FORWARDED = {b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"true-client-ip"}
FORWARDED_PREFIXES = (b"x-forwarded-", b"cf-", b"x-original-")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_forwarded(names: Iterable[bytes]) -> bool:
    """Return whether a proxy has sent a request with these headers, whose names are lower case."""
    return any(name in FORWARDED or name.startswith(FORWARDED_PREFIXES) for name in names)


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
            for hop in _hops(scope):
                peer = hop
                if not self.is_proxy(hop):
                    break
        return peer[:LONGEST]

    def is_proxy(self, address: str) -> bool:
        """Return whether a trusted proxy has this address."""
        try:
            forms = {ipaddress.ip_address(address), unmapped(address)}
        except ValueError:
            return False
        return any(form in network for network in self._trusted for form in forms)


def is_loopback(address: str) -> bool:
    """Return whether this is a loopback address, also an IPv4 one that is mapped to IPv6."""
    try:
        return unmapped(address).is_loopback
    except ValueError:
        return False


def unmapped(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the address. A socket for both versions of IP shows IPv4 addresses mapped to IPv6."""
    number = ipaddress.ip_address(address)
    mapped = number.ipv4_mapped if isinstance(number, ipaddress.IPv6Address) else None
    return mapped or number


def _hops(scope: Scope) -> Iterator[str]:
    """Yield the addresses in X-Forwarded-For, the nearest first, up to an invalid one."""
    named = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
    parts = named.decode("latin-1").rsplit(",", MOST_HOPS)
    # A client may send thousands, and one part would be all those beyond the limit.
    for part in reversed(parts[-MOST_HOPS:]):
        try:
            yield str(ipaddress.ip_address(_without_port(part.strip())))
        except ValueError:
            return


def _without_port(hop: str) -> str:
    found = WITH_PORT.fullmatch(hop)
    return hop if found is None else found[1] or found[2]


@lru_cache(maxsize=1024)
def network_of(address: str) -> str:
    """Return the address or, for IPv6, its /64 network."""
    try:
        number = unmapped(address)
    except ValueError:
        return address
    if isinstance(number, ipaddress.IPv4Address):
        return str(number)
    return str(ipaddress.ip_network((int(number) >> 64 << 64, 64)))
