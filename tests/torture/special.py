"""Networks to which the worker must not send: IANA's special-purpose address registries, and
networks that embed an IPv4 address. The lists are not taken from the code under test.
"""

from ipaddress import IPv4Address, IPv6Address

V4 = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "169.254.169.254/32",
    "100.100.100.200/32",
]
V6 = [
    "::/128",
    "::1/128",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/32",
    "2001:2::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "fd00:ec2::254/128",
]


def spelled_v4(address: IPv4Address) -> list[str]:
    """Return the ways to write an IPv4 address that one program or another accepts."""
    number = int(address)
    a, b, c, d = address.packed
    rest, last = number & 0xFFFFFF, number & 0xFFFF
    wide = str(address).translate({ord(str(n)): 0xFF10 + n for n in range(10)})
    return [
        str(address),
        f"{address}.",
        str(number),
        hex(number),
        hex(number).upper().replace("X", "x"),
        f"0{number:o}",
        f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a:04o}.{b}.{c}.{d}",
        f"{a}.{rest}",
        f"{a}.{b}.{last}",
        f"0x{a:x}.{b}.{last}",
        f"{a:03}.{b:03}.{c:03}.{d:03}",
        wide,
        str(address).replace(".", "。"),
        str(address).replace(".", "%2e"),
        "".join(f"%{ord(each):02x}" for each in str(address)),
        f"[::ffff:{address}]",
        f"[::{address}]",
        f"[64:ff9b::{address}]",
        f"[2002:{a:02x}{b:02x}:{c:02x}{d:02x}::1]",
        f"[::ffff:0:{address}]",
        f"[0:0:0:0:0:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}]",
        f"user@{address}",
        f"example.com@{address}",
        f"{address}%00.example.com",
        f"{address}\\@example.com",
    ]


def spelled_v6(address: IPv6Address) -> list[str]:
    """Return the ways to write an IPv6 address."""
    return [
        f"[{address}]",
        f"[{address.exploded}]",
        f"[{str(address).upper()}]",
        f"[{address}%eth0]",
        f"[{address}%25eth0]",
        f"[{address}]:80",
        f"user@[{address}]",
        str(address),
    ]
