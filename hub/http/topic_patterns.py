"""Patterns of the WebSub topics on other sites that the hub serves."""

import re
from collections.abc import Iterable

from store.delivery.websub.websub_topics import Topic, external_topic

PATTERN = re.compile(r"(https?://)([^/?#\\\s]+)(.*)", re.DOTALL)
PORT = re.compile("[0-9]{1,5}|[*]")


class ForeignTopics:
    """The served topics on other sites: those that match a pattern.

    In a pattern, `*` stands for any text; before the path, only for a part of the host name or for
    the port.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [_compiled(pattern) for pattern in patterns]

    def find(self, url: str) -> Topic | None:
        """Return the topic with this URL, or None if it is not served."""
        topic = external_topic(url)
        served = any(pattern.fullmatch(topic.self_url) for pattern in self._patterns)
        return topic if served else None


def _compiled(pattern: str) -> re.Pattern[str]:
    origin, slash, path = _halves(pattern)
    return re.compile(_expression(origin, "[^/?#@:\\\\]") + slash + _expression(path, "[^#\\s]"))


def _expression(pattern: str, some: str) -> str:
    """Return the regular expression of a pattern, in which `*` stands for any number of `some`.

    Between two stars the first place that fits is as good as any later one, so no other is tried:
    the time would grow with a power of the URL's length.
    """
    begin, *parts = (re.escape(part) for part in pattern.split("*"))
    if not parts:
        return begin
    *within, end = parts
    return begin + "".join(f"(?>{some}*?{part})" for part in within) + f"{some}*{end}"


def _halves(pattern: str) -> tuple[str, str, str]:
    scheme, _, rest = pattern.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash, path


def check(pattern: str) -> None:
    """Check a pattern. Raises ValueError with the reason if no topic can match it."""
    found = PATTERN.fullmatch(pattern)
    if found is None:
        raise ValueError(f"{pattern} does not begin with http:// or https:// and a host")
    scheme, authority, path = found.groups()
    if "@" in authority:
        # The URL is not shown, as it may hold a password.
        raise ValueError("a topic's URL must not contain a user name or a password")
    if not path.startswith("/"):
        origin = scheme + authority
        raise ValueError(f"{pattern} has no path; {origin}/* stands for all its topics")
    if "#" in path:
        raise ValueError(f"{pattern} has a fragment, which topics must not have")
    _, colon, port = authority.rpartition(":")
    # Colons within brackets belong to an IPv6 address.
    if colon and not authority.endswith("]") and not PORT.fullmatch(port):
        raise ValueError(f"{pattern} has a port that is neither a number nor *, for any")
