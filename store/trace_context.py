"""Trace context (W3C): the two headers by which programs join their parts of a trace."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MOST = 512
"""The characters that a header may have. A longer one is ignored."""
MOST_MEMBERS = 32
TRACEPARENT = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
    r"(?P<more>-.*)?"
)
KEY = r"(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})"
MEMBER = re.compile(rf"({KEY})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{{0,255}}[\x21-\x2b\x2d-\x3c\x3e-\x7e]")
SAMPLED = 1


@dataclass(frozen=True, slots=True)
class TraceContext:
    """The place in a trace from which an event comes. `state` is empty if there is none."""

    parent: str
    state: str = ""

    @property
    def trace_id(self) -> int:
        return int(self.parent[3:35], 16)

    @property
    def span_id(self) -> int:
        return int(self.parent[36:52], 16)

    @property
    def flags(self) -> int:
        """Return the flags. SAMPLED says that the caller records the trace."""
        return int(self.parent[53:55], 16)

    def members(self) -> dict[str, str]:
        """Return the headers, or the attributes of CloudEvents with the same names."""
        found = {"traceparent": self.parent}
        return found | {"tracestate": self.state} if self.state else found

    def lines(self) -> str:
        return "".join(f"{name}: {value}\r\n" for name, value in self.members().items())


def stored(parent: str | None, state: str | None) -> TraceContext | None:
    """Return the trace context of an event by its columns."""
    return None if parent is None else TraceContext(parent, state or "")


def parse(parents: Iterable[str], states: Iterable[str]) -> TraceContext | None:
    """Return the trace context in the values of both headers. Return None if it is not valid.

    An invalid `tracestate` is left out, as the standard says.
    """
    parent = _parent([*parents])
    return None if parent is None else TraceContext(parent, _state(",".join(states)))


def _parent(values: list[str]) -> str | None:
    found = TRACEPARENT.fullmatch(values[0].strip(" \t")) if len(values) == 1 else None
    if found is None or len(values[0]) > MOST or found["version"] == "ff":
        return None
    if found["more"] and found["version"] == "00":
        return None
    if not int(found["trace"], 16) or not int(found["span"], 16):
        return None
    # Later versions may give other flags a meaning that is not known here.
    flags = (
        found["flags"] if found["version"] == "00" else f"{int(found['flags'], 16) & SAMPLED:02x}"
    )
    return f"00-{found['trace']}-{found['span']}-{flags}"


def _state(text: str) -> str:
    if len(text) > MOST:
        return ""
    members = [member.strip(" \t") for member in text.split(",")]
    members = [member for member in members if member]
    matches = [MEMBER.fullmatch(member) for member in members]
    keys = {found[1] for found in matches if found is not None}
    # A key that is missing here is invalid, or stands there twice.
    return ",".join(members) if len(keys) == len(members) <= MOST_MEMBERS else ""
