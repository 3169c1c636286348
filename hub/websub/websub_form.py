"""Strict parsing of requests to the WebSub hub."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from hub.http.errors import Malformed
from hub.http.forms import read_urlencoded
from hub.http.numbers import natural

MODES = ("subscribe", "unsubscribe", "publish")
MOST_URL, MOST_TOKEN = 2048, 512
# The Recommendation requires "less than 200 bytes".
SECRET_BYTES = 200
UNFIT = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]|\s")
NOT_IN_LINK = re.compile('[<>"]')
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class WebSubForm:
    """The fields of a request.

    Unknown fields are ignored. Raises Malformed for anything but a form.
    """

    def __init__(self, body: bytes) -> None:
        self._fields = read_urlencoded(body)

    def get(self, name: str) -> str:
        """Return a field's value: the last one if it is repeated, empty if it is missing."""
        return self._fields.get(name, "")

    def every(self, *names: str) -> list[str]:
        """Return the values of all fields with these names, without duplicates."""
        return list(
            dict.fromkeys(value for name, value in self._fields.pairs if name in names and value)
        )

    def mode(self) -> str:
        """Return the requested mode. Raises Malformed for an unknown one."""
        mode = self.get("hub.mode")
        if not mode:
            raise Malformed("hub.mode is missing")
        if mode not in MODES:
            raise Malformed(f'hub.mode is "{mode[:100]}": it must be {", ".join(MODES)}')
        return mode

    def url(self, name: str) -> str:
        """Return the URL in a field. Raises Malformed if it is missing or not valid."""
        value = self.get(name)
        if not value:
            raise Malformed(f"{name} is missing")
        return checked_url(name, value)


def checked_url(name: str, value: str) -> str:
    """Return the URL if it is an http or https URL that can be requested as it is.

    Raises Malformed for any other.
    """
    if len(value) > MOST_URL:
        raise Malformed(f"{name} is longer than {MOST_URL} characters")
    parts = _parts(value)
    if parts is None or not re.match("https?://", value, re.IGNORECASE) or UNFIT.search(value):
        raise Malformed(f"{name} is not an http or https URL")
    if name != "hub.callback" and NOT_IN_LINK.search(value):
        raise Malformed(f"{name} contains characters that are not valid in a URL")
    if "#" in value:
        raise Malformed(f"{name} has a fragment, which is never sent")
    if "@" in parts.netloc:
        raise Malformed(f"{name} contains credentials")
    return value


@dataclass(frozen=True, slots=True)
class UrlParts:
    """The part of a URL before its path, and the host in it."""

    netloc: str
    host: str


def _parts(value: str) -> UrlParts | None:
    try:
        found = urlsplit(value)
        if not found.hostname or found.port == 0:
            return None
    except ValueError:
        return None
    return UrlParts(found.netloc, found.hostname.rstrip(".").lower())


def host_of(url: str) -> str:
    """Return the host of a checked URL."""
    parts = _parts(url)
    assert parts is not None, "it was checked"
    return parts.host[:253]


def names_address(host: str) -> bool:
    """Return whether a host is an address or localhost, so that it can be checked without DNS."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return NUMBER.fullmatch(host.rpartition(".")[2]) is not None
    return True


def lease_of(form: WebSubForm, least: int, usual: int, most: int) -> int:
    """Return the lease in seconds: the requested one, limited to `least` and `most`, or `usual`.

    Raises Malformed if it is not a number.
    """
    given = form.get("hub.lease_seconds")
    seconds = natural(given) if given else 0
    if seconds is None:
        raise Malformed("hub.lease_seconds is not a positive number of seconds")
    # Early versions of the protocol used 0 for an endless lease, which this hub does not grant.
    return min(max(seconds, least), most) if seconds else usual


def secret_of(form: WebSubForm) -> str | None:
    """Return the secret for signatures, or None. Raises Malformed if it is too long."""
    secret = form.get("hub.secret")
    if len(secret.encode()) >= SECRET_BYTES:
        raise Malformed(f"hub.secret must be shorter than {SECRET_BYTES} bytes")
    return secret or None


def token_of(form: WebSubForm) -> str | None:
    """Return the token that an early subscriber expects in the verification, or None.

    Raises Malformed if it is too long.
    """
    token = form.get("hub.verify_token")
    if len(token) > MOST_TOKEN:
        raise Malformed(f"hub.verify_token is longer than {MOST_TOKEN} characters")
    return token or None
