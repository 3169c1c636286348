"""Strict parsing of URLs. If programs disagree on how to read a URL, it is refused."""

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from worker.http.addresses import Refused

MAX_URL = 2048
DEFAULT_PORTS = {"http": 80, "https": 443, "svn": 3690}
WEB = ("http", "https")
SOURCES = (*WEB, "svn")
"""The schemes of repositories that can be imported."""
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^#]*)(#.*)?", re.DOTALL)
_FORBIDDEN_CHARACTER = re.compile(r"[\x00-\x20\x7f-\xa0\\\ud800-\udfff]|[^\S ]")
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::(.*))?", re.DOTALL)
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The destination of a request. `target` is path and query, byte for byte as given."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Return the value of the Host header. It has the port only if it is not the scheme's
        default.
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def parse(url: str, schemes: Sequence[str] = WEB) -> Endpoint:
    """Return the parts of a URL with one of these schemes. Raises Refused if it is not
    plainly one.
    """
    if len(url) > MAX_URL:
        raise Refused(f"the URL of {len(url)} characters", f"longer than {MAX_URL}")
    if found := _FORBIDDEN_CHARACTER.search(url):
        raise Refused(f"the character {found[0]!a}", "not allowed in a URL")
    scheme, authority, target = _split(url, schemes)
    host, port = _host_and_port(authority, scheme)
    if not target.startswith("/"):
        target = "/" + target
    return Endpoint(scheme, host, port, _NOT_ASCII.sub(_percent, target))


def first_lines(
    method: str, endpoint: Endpoint | None, user_agent: str, url: str = ""
) -> list[str]:
    """Return the first lines of a request: the request line, and headers that all requests have.

    Without an endpoint, nothing is sent. The lines then show the whole `url`, for the record.
    """
    target = url if endpoint is None else endpoint.target
    lines = [f"{method} {target} HTTP/1.1", f"User-Agent: {user_agent}", "Accept: */*"]
    if endpoint is not None:
        lines.insert(1, f"Host: {endpoint.authority}")
    return lines


def is_address(host: str) -> bool:
    """Return whether the host of an Endpoint is an IP address."""
    # After `parse`, only an address has a colon or ends in a label of digits only.
    return ":" in host or host.rpartition(".")[2].isdigit()


def _split(url: str, schemes: Sequence[str]) -> tuple[str, str, str]:
    parts = _URL.fullmatch(url)
    if parts is None:
        forms = " or ".join(f"{scheme}://host/path" for scheme in schemes)
        raise Refused("the URL", f"not of the form {forms}")
    scheme, authority, target, fragment = parts.groups()
    if scheme.lower() not in schemes:
        spoken = f"{', '.join(schemes[:-1])} and {schemes[-1]}"
        raise Refused(f"the scheme {scheme}", f"only {spoken} are supported")
    if fragment is not None:
        raise Refused("the fragment", "what follows # is never sent")
    if "@" in authority:
        raise Refused("the user information before @", "credentials do not belong in a URL")
    return scheme.lower(), authority, target


def _host_and_port(authority: str, scheme: str) -> tuple[str, int]:
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise Refused(f"the host {authority!a}", "not of the form host:port")
    host, port = parts.groups()
    if port is None:
        return _host(host), DEFAULT_PORTS[scheme]
    if not _PORT.fullmatch(port) or int(port) > 65535:
        raise Refused(f"the port {port!a}", "not a number from 1 to 65535")
    return _host(host), int(port)


def _host(host: str) -> str:
    if host.startswith("["):
        return _ipv6(host[1:-1])
    ascii_host = host.lower() if host.isascii() else _idna(host)
    name = ascii_host.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(name, given=host)
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise Refused(f"the host {host!a}", "not a valid host name (RFC 1123)")
    _check_punycode(labels, host)
    return name


def _ipv6(text: str) -> str:
    if "%" in text:
        raise Refused(f"the address [{text}]", "an IPv6 zone has no meaning outside this machine")
    try:
        return str(IPv6Address(text))
    except AddressValueError:
        raise Refused(f"the address [{ascii(text)[1:-1]}]", "not an IPv6 address") from None


def _ipv4(name: str, given: str) -> str:
    """Return the address of a host that ends in a number (WHATWG URL, 3.5).

    Programs disagree on how to read octal, hexadecimal and shortened forms. So only four decimal
    numbers are allowed, whatever address the other forms may stand for. Raises Refused otherwise.
    """
    try:
        address = str(IPv4Address(name))
    except AddressValueError:
        address = _inet_aton(name)
    if address == given:
        return address
    read = f" (which stands for {address})" if address else ""
    raise Refused(f"the host {given!a}{read}", "an address must be written as four decimal numbers")


def _inet_aton(name: str) -> str:
    try:
        return socket.inet_ntoa(socket.inet_aton(name))
    except OSError:
        return ""


def _idna(host: str) -> str:
    # Its tables take memory, and most daemons never meet an international name.
    import idna

    try:
        return idna.encode(host, uts46=True).decode()
    except UnicodeError as error:  # the base class of IDNAError
        raise Refused(f"the host {host!a}", f"not a valid international name: {error}") from None


def _check_punycode(labels: list[str], host: str) -> None:
    try:
        for label in labels:
            if label.startswith("xn--") and label[4:].encode().decode("punycode").isascii():
                raise ValueError(label)
    except ValueError:
        raise Refused(f"the host {host!a}", "not a valid international name") from None


def _percent(text: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in text[0].encode())
