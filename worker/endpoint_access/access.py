"""The headers by which the requests of one hook get access to its endpoint."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from store.endpoint_access import static_headers
from store.endpoint_access.secret_parts import MASK
from worker.endpoint_access.masking import SHORTEST, masked
from worker.endpoint_access.token_request import TokenCredentials, credentials_of

# Concurrent attempts may use different tokens, and an answer may repeat any of them.
MOST_TOKENS = 4


@dataclass(slots=True)
class EndpointAccess:
    """The header lines with a hook's credentials, as they are sent and as they are recorded."""

    sent: str = field(default="", repr=False)
    recorded: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Texts that are masked in answers."""
    oauth2: TokenCredentials | None = None
    """The credentials for a token, which each request then has."""
    tokens: tuple[str, ...] = field(default=(), repr=False)
    """The tokens that were used last. They are masked too."""

    def sent_head(self, head: str, token: str = "") -> str:
        """Return the head of a request with these lines, as it is sent."""
        bearer = f"Authorization: Bearer {token}\r\n" if token else ""
        return f"{head[:-2]}{self.sent}{bearer}\r\n"

    def recorded_head(self, head: str) -> str:
        """Return the head of a request with these lines, as it is recorded."""
        bearer = f"Authorization: Bearer {MASK}\r\n" if self.oauth2 is not None else ""
        return f"{head[:-2]}{self.recorded}{bearer}\r\n"

    def note_token(self, token: str) -> None:
        """Mask this token from now on."""
        if token not in self.tokens:
            self.tokens = (*self.tokens, token)[-MOST_TOKENS:]

    def masked_texts(self) -> tuple[str, ...]:
        """Return the tokens and the secret values, which no text may show."""
        return (*self.tokens, *self.secrets)

    def mask(self, text: str) -> str:
        """Return the text without secret values."""
        return masked(text, self.masked_texts())


def access_for(options: dict[str, Any]) -> EndpointAccess | None:
    """Return the access for delivery options with their secret values. Most hooks have none."""
    headers: dict[str, str] = options.get("headers") or {}
    oauth2 = options.get("oauth2")
    if not headers and not oauth2:
        return None
    secret = {name for name in headers if static_headers.is_secret(name)}
    credentials = credentials_of(oauth2) if oauth2 else None
    return EndpointAccess(
        "".join(f"{name}: {value}\r\n" for name, value in headers.items()),
        "".join(f"{name}: {MASK if name in secret else headers[name]}\r\n" for name in headers),
        _parts(
            [*(headers[name] for name in secret), *(credentials.secrets if credentials else ())]
        ),
        credentials,
    )


def _parts(values: Iterable[str]) -> tuple[str, ...]:
    """Return secret values, and the parts of them that a receiver may repeat alone."""
    found = set(values)
    for value in list(found):
        found |= {part for part in value.split() if len(part) >= SHORTEST}
    return tuple(sorted(found))
