"""The rule for addresses that may be dialled, with a table of the special-purpose networks.

The table is written out because the `ipaddress` properties differ between Python releases. It
follows the IANA special-purpose registries and adds the metadata services of cloud providers.
"""

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

NETWORKS_SETTING = "allow_networks"


class Refused(Exception):
    """An address or a part of a URL is refused.

    `subject` is the refused part, and `rule` is the reason in words. `setting` names the setting
    that would allow it, or is None if no setting does. `host` is the name that led to the address,
    or None.
    """

    def __init__(
        self, subject: str, rule: str, setting: str | None = None, host: str | None = None
    ) -> None:
        super().__init__(subject, rule, setting, host)
        self.subject, self.rule, self.setting, self.host = subject, rule, setting, host

    def __str__(self) -> str:
        led = f" (an address of {self.host})" if self.host else ""
        end = f"the setting {self.setting} can allow it" if self.setting else "no setting allows it"
        return f"{self.subject}{led} is refused: {self.rule}; {end}"


# The first network that holds an address names it. So exceptions precede the networks that hold
# them.
FORBIDDEN_V4 = [
    ("0.0.0.0/8", "this network", "RFC 791"),
    ("10.0.0.0/8", "private", "RFC 1918"),
    ("100.100.100.200/32", "cloud metadata service", "Alibaba Cloud"),
    ("100.64.0.0/10", "carrier-grade NAT", "RFC 6598"),
    ("127.0.0.0/8", "loopback", "RFC 1122"),
    ("168.63.129.16/32", "cloud metadata service", "Azure"),
    ("169.254.169.254/32", "cloud metadata service", "AWS, Azure, Google Cloud and others"),
    ("169.254.170.2/32", "cloud metadata service", "AWS containers"),
    ("169.254.0.0/16", "link-local", "RFC 3927"),
    ("172.16.0.0/12", "private", "RFC 1918"),
    ("192.0.0.192/32", "cloud metadata service", "Oracle Cloud"),
    ("192.0.0.0/24", "IETF protocol assignments", "RFC 6890"),
    ("192.0.2.0/24", "documentation", "RFC 5737"),
    ("192.88.99.0/24", "6to4 relay", "RFC 7526"),
    ("192.168.0.0/16", "private", "RFC 1918"),
    ("198.18.0.0/15", "benchmarking", "RFC 2544"),
    ("198.51.100.0/24", "documentation", "RFC 5737"),
    ("203.0.113.0/24", "documentation", "RFC 5737"),
    ("224.0.0.0/4", "multicast", "RFC 5771"),
    ("255.255.255.255/32", "broadcast", "RFC 919"),
    ("240.0.0.0/4", "reserved", "RFC 1112"),
]
FORBIDDEN_V6 = [
    ("::/128", "unspecified", "RFC 4291"),
    ("::1/128", "loopback", "RFC 4291"),
    ("fd00:ec2::254/128", "cloud metadata service", "AWS"),
    ("fd20:ce::254/128", "cloud metadata service", "Google Cloud"),
    ("100::/64", "discard-only", "RFC 6666"),
    ("100:0:0:1::/64", "dummy prefix", "RFC 9780"),
    ("2001:2::/48", "benchmarking", "RFC 5180"),
    ("2001:10::/28", "ORCHID", "RFC 4843"),
    ("2001:20::/28", "ORCHIDv2", "RFC 7343"),
    ("2001:30::/28", "drone remote identification", "RFC 9374"),
    ("2001::/23", "IETF protocol assignments", "RFC 2928"),
    ("2001:db8::/32", "documentation", "RFC 3849"),
    ("3fff::/20", "documentation", "RFC 9637"),
    ("3ffe::/16", "returned test network", "RFC 3701"),
    ("5f00::/16", "segment routing", "RFC 9602"),
    ("fc00::/7", "private", "RFC 4193"),
    ("fe80::/10", "link-local", "RFC 4291"),
    ("fec0::/10", "site-local", "RFC 3879"),
    ("ff00::/8", "multicast", "RFC 4291"),
]
# The networks in which an IPv6 address contains an IPv4 address. The last value is how many bits
# follow the IPv4 address.
EMBEDDING = [
    ("::ffff:0:0/96", "IPv4-mapped", "RFC 4291", 0),
    ("::ffff:0:0:0/96", "IPv4-translated", "RFC 2765", 0),
    ("::/96", "IPv4-compatible", "RFC 4291", 0),
    ("64:ff9b::/96", "NAT64", "RFC 6052", 0),
    ("64:ff9b:1::/48", "local NAT64", "RFC 8215", 0),
    ("2002::/16", "6to4", "RFC 3056", 80),
    ("2001::/32", "Teredo", "RFC 4380", 0),
]
GLOBAL_V6 = IPv6Network("2000::/3")
ISATAP = 0x5EFE  # RFC 5214: bits 32 to 47 of the address, with 0 or 0x200 before them
_NAMED_V4 = [(IPv4Network(network), what, by) for network, what, by in FORBIDDEN_V4]
_NAMED_V6 = [(IPv6Network(network), what, by) for network, what, by in FORBIDDEN_V6]
_EMBEDDING = [(IPv6Network(network), what, by, bits) for network, what, by, bits in EMBEDDING]


class AddressRule:
    """The rule for addresses. `allowed` are networks in CIDR notation, which win over the table.

    Raises ValueError if an entry is no network.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        try:
            self.allowed: list[Network] = [ip_network(network) for network in allowed]
        except ValueError as error:
            raise ValueError(f"{NETWORKS_SETTING}: {error}") from None

    def judge(self, text: str, host: str | None = None) -> None:
        """Raise Refused unless `text` is a global unicast address or in an allowed network."""
        try:
            address = ip_address(text.partition("%")[0])
        except ValueError:
            raise Refused(text, "not an IP address", host=host) from None
        rule = None if self._allows(address) else forbidden(address)
        if rule:
            raise Refused(str(address), rule, NETWORKS_SETTING, host)

    def allows_loopback(self) -> bool:
        """Return whether any loopback address is in an allowed network."""
        loopback: list[Network] = [IPv4Network("127.0.0.0/8"), IPv6Network("::1/128")]
        return any(
            mine.version == other.version and mine.overlaps(other)
            for mine in self.allowed
            for other in loopback
        )

    def _allows(self, address: Address) -> bool:
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return any(
            address in network or (mapped is not None and mapped in network)
            for network in self.allowed
        )


def forbidden(address: Address) -> str | None:
    """Return the rule that forbids an address, in words. Return None for a global unicast
    address.
    """
    if isinstance(address, IPv4Address):
        return _named_v4(address)
    return _embedding(address) or _named_v6(address)


def _named_v4(address: IPv4Address) -> str | None:
    for network, what, by in _NAMED_V4:
        if address in network:
            return f"{what} ({network}, {by})"
    return None


def _named_v6(address: IPv6Address) -> str | None:
    for network, what, by in _NAMED_V6:
        if address in network:
            return f"{what} ({network}, {by})"
    return None if address in GLOBAL_V6 else f"not global unicast (outside {GLOBAL_V6}, RFC 4291)"


def _embedding(address: IPv6Address) -> str | None:
    number = int(address)
    if number <= 1:
        return None  # the unspecified and the loopback address have names of their own
    for network, what, by, bits in _EMBEDDING:
        if address in network:
            # Teredo inverts the bits of its address.
            inner = IPv4Address((number >> bits ^ (0xFFFFFFFF * (what == "Teredo"))) & 0xFFFFFFFF)
            return f"{what} ({network}, {by}), which stands for {inner}"
    if (number >> 32) & 0xFDFFFFFF == ISATAP:
        return f"ISATAP (::5efe:0:0, RFC 5214), which stands for {IPv4Address(number & 0xFFFFFFFF)}"
    return None
