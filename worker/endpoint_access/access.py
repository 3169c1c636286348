"""The headers by which the requests of one hook get access to its endpoint."""

from dataclasses import dataclass, field
from typing import Any

from store.endpoint_access import static_headers
from store.endpoint_access.secret_parts import MASK

# A shorter part of a value is not replaced by itself, because it may stand in any text.
SHORTEST_PART = 8


@dataclass(frozen=True, slots=True)
class EndpointAccess:
    """The header lines as they are sent, and as they are recorded."""

    sent: str = field(default="", repr=False)
    recorded: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Texts that are masked in answers, the longest first."""

    def heads(self, head: str) -> tuple[str, str]:
        """Return the head of a request with these lines: as it is sent, and as it is recorded."""
        return f"{head[:-2]}{self.sent}\r\n", f"{head[:-2]}{self.recorded}\r\n"

    def mask(self, text: str) -> str:
        """Return the text without secret values."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        return text


def access_for(options: dict[str, Any]) -> EndpointAccess | None:
    """Return the access for delivery options with their secret values. Most hooks have none."""
    headers: dict[str, str] | None = options.get("headers")
    if not headers:
        return None
    secret = {name for name in headers if static_headers.is_secret(name)}
    return EndpointAccess(
        "".join(f"{name}: {value}\r\n" for name, value in headers.items()),
        "".join(f"{name}: {MASK if name in secret else headers[name]}\r\n" for name in headers),
        _parts(headers[name] for name in secret),
    )


def _parts(values: Any) -> tuple[str, ...]:
    """Return secret values, and the parts of them that a receiver may repeat alone."""
    found = set(values)
    for value in list(found):
        found |= {part for part in value.split() if len(part) >= SHORTEST_PART}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))
