"""Patterns of the topics hosted elsewhere that the WebSub hub serves."""

import re
from collections.abc import Iterable

from store.delivery.websub_topics import Topic, external_topic

PATTERN = re.compile(r"(https?://)([^/?#\\\s]+)(.*)", re.DOTALL)
PORT = re.compile("[0-9]{1,5}|[*]")


class Foreign:
    """The topics hosted elsewhere that are served: those that match a pattern. `*` in one stands
    for anything, before the path only for a part of the host's name or the port.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [_compiled(pattern) for pattern in patterns]

    def find(self, url: str) -> Topic | None:
        """The topic with this URL, if it is served."""
        topic = external_topic(url)
        served = any(pattern.fullmatch(topic.self_url) for pattern in self._patterns)
        return topic if served else None


def _compiled(pattern: str) -> re.Pattern[str]:
    origin, slash, path = _halves(pattern)
    host = "[^/?#@:\\\\]*".join(re.escape(part) for part in origin.split("*"))
    rest = "[^#\\s]*".join(re.escape(part) for part in path.split("*"))
    return re.compile(host + slash + rest)


def _halves(pattern: str) -> tuple[str, str, str]:
    scheme, _, rest = pattern.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash, path


def check(pattern: str) -> None:
    """ValueError, with the reason, for a pattern that no topic can match."""
    found = PATTERN.fullmatch(pattern)
    if found is None:
        raise ValueError(f"{pattern} does not begin with http:// or https:// and a host")
    scheme, authority, path = found.groups()
    if "@" in authority:
        # Not shown: it may hold a password.
        raise ValueError("a topic's URL has no name and no password before its host")
    if not path.startswith("/"):
        origin = scheme + authority
        raise ValueError(f"{pattern} has no path; {origin}/* stands for all that is there")
    if "#" in path:
        raise ValueError(f"{pattern} has a fragment, and topics have none")
    _, colon, port = authority.rpartition(":")
    # The colons within brackets are those of an address.
    if colon and not authority.endswith("]") and not PORT.fullmatch(port):
        raise ValueError(f"{pattern} has a port that is neither a number nor *, for any")
