"""The address guard: it decides which URLs may be used, and which addresses may be dialled for
them.

A name is resolved and all its addresses are judged. Exactly the judged addresses are returned.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from worker.http.addresses import NETWORKS_SETTING, AddressRule, Refused
from worker.http.endpoint import WEB, Endpoint, is_address, parse
from worker.http.names import NameResolver

__all__ = ["Endpoint", "Guard", "Refused", "Resolver"]

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""A function from host and port to addresses. It raises OSError if there are none."""

PORTS = "80,443,1024-65535"
PORTS_SETTING = "callback_ports"
MAX_ANSWERS = 64
CHECK_SECONDS = 2
# The ports that the WHATWG fetch standard blocks, because other protocols listen there.
BAD_PORTS = frozenset([
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
    103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
    512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
    995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
    6669, 6679, 6697, 10080,
])  # fmt: skip


class Guard:
    """The guard, which judges URLs and addresses, and resolves names.

    `allow_networks` are networks in CIDR notation that may be dialled whatever the table says.
    `ports` lists ports and ranges of ports. `resolver` replaces the system's. `check_seconds` is
    how long `judge` waits for a name. Raises ValueError if a network or port is invalid.
    """

    def __init__(
        self,
        *,
        allow_networks: Iterable[str] = (),
        ports: str = PORTS,
        resolver: Resolver | None = None,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        self.allow(allow_networks, ports)
        self._names = NameResolver()
        self._resolver = resolver or self._names.resolve
        self._check_seconds = check_seconds

    def allow(self, networks: Iterable[str], ports: str) -> None:
        """Apply these rules from now on. If they are invalid, raise ValueError and change
        nothing.
        """
        rule, ranges = AddressRule(networks), _ranges(ports)
        self._rule, self._ports = rule, ranges
        self._localhost = rule.allows_loopback()

    def endpoint(self, url: str, schemes: Sequence[str] = WEB) -> Endpoint:
        """Return the parts of a URL, judged as far as possible without resolving. Raises
        Refused.
        """
        endpoint = parse(url, schemes)
        self._check_port(endpoint.port)
        self._check_host(endpoint.host)
        return endpoint

    def check_address(self, address: str) -> None:
        """Raise Refused unless the address is global unicast or in an allowed network."""
        self._rule.judge(address)

    async def resolve(self, endpoint: Endpoint) -> list[str]:
        """Return the addresses to dial. All of them were judged.

        Raises Refused if one is forbidden, and OSError if there are none.
        """
        if is_address(endpoint.host):
            self._rule.judge(endpoint.host)
            return [endpoint.host]
        found = list(dict.fromkeys(await self._resolver(endpoint.host, endpoint.port)))
        if not found or len(found) > MAX_ANSWERS:
            raise OSError(f"{len(found)} addresses for {endpoint.host}")
        for address in found:
            self._rule.judge(address, endpoint.host)
        return found

    async def judge(self, url: str) -> None:
        """Raise Refused if a URL may not be subscribed to.

        A name that does not resolve, or not in time, passes: every delivery judges it again.
        """
        endpoint = self.endpoint(url)
        try:
            async with asyncio.timeout(self._check_seconds):
                await self.resolve(endpoint)
        except OSError:  # also TimeoutError
            return

    def close(self) -> None:
        """Let the resolver's threads end, and drop look-ups that have not begun."""
        self._names.close()

    def _check_port(self, port: int) -> None:
        if port in BAD_PORTS:
            raise Refused(f"port {port}", "another protocol's port (WHATWG fetch, bad ports)")
        if not any(first <= port <= last for first, last in self._ports):
            raise Refused(f"port {port}", "not one of the allowed ports", PORTS_SETTING)

    def _check_host(self, host: str) -> None:
        if is_address(host):
            self._rule.judge(host)
        elif (host == "localhost" or host.endswith(".localhost")) and not self._localhost:
            raise Refused(host, "a loopback name (RFC 6761)", NETWORKS_SETTING)


def _ranges(ports: str) -> list[tuple[int, int]]:
    found = []
    for part in ports.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            found.append((int(first), int(last if dash else first)))
        except ValueError:
            found.append((0, 0))
        if not 0 < found[-1][0] <= found[-1][1] <= 65535:
            raise ValueError(f"{PORTS_SETTING}: {part!r} is not a port, and not a range of ports")
    return found
