"""URLs in settings: without a user name, a query and a fragment, and with the host in ASCII."""

import re
from urllib.parse import urlsplit

PLAIN_URL = re.compile(
    r"https?://([^/:\s\[\]{}]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~%+@:,=-]*)*"
)


def read(value: str) -> str:
    """Return a URL as clients write it, without a slash at its end.

    Raises ValueError if it is not a plain http or https URL.
    """
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an http or https URL")
    if "?" in value or "#" in value:
        raise ValueError("must have no query and no fragment")
    if "@" in parts.netloc:
        raise ValueError("must have no user name and no password")
    found = PLAIN_URL.fullmatch(value)
    if found is None or parts.port == 0:
        raise ValueError("must have a valid port, and no other characters than a plain URL has")
    return f"{value[: found.start(1)]}{_in_ascii(found[1])}{value[found.end(1) :]}".rstrip("/")


def _in_ascii(host: str) -> str:
    """Return a host as it stands in headers and certificates, and as browsers send it."""
    if host.isascii():
        return host
    # Few hosts need the library.
    import idna

    try:
        return idna.encode(host, uts46=True).decode()
    except UnicodeError:  # the base class of IDNAError
        raise ValueError(f"has the host {host}: write it in ASCII, as xn--...") from None
