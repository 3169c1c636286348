"""Masking of secrets in URLs. Many receivers accept a token in the query of their URL."""

import re
from urllib.parse import urlsplit

MASK = "•••"
VALUE = re.compile(r"=[^&;]+")


def masked(url: str) -> str:
    """Return a URL without the values in its query, without its fragment and without a password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.partition("?")[0]
    user, at, host = parts.netloc.rpartition("@")
    shown = f"{user.partition(':')[0]}:{MASK}@{host}" if ":" in user else f"{user}{at}{host}"
    query = VALUE.sub(f"={MASK}", parts.query) if "=" in parts.query else parts.query and MASK
    text = parts._replace(netloc=shown, query="", fragment="").geturl()
    return f"{text}?{query}" if query else text
