"""One attempt to sign in: what the browser keeps while it is at the provider."""

import hashlib
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict, dataclass
from typing import Self

import orjson

# Seconds that somebody may take at the provider.
LASTS = 600


@dataclass(frozen=True, slots=True)
class Attempt:
    """The state, the nonce and the PKCE verifier (RFC 7636) of an attempt, and where it leads."""

    state: str
    nonce: str
    verifier: str
    next: str

    @classmethod
    def begin(cls, next_: str) -> Self:
        """Return a new attempt that leads to a path of the dashboard."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, next_)

    @property
    def challenge(self) -> str:
        """Return the digest of the verifier, which the provider gets first."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return urlsafe_b64encode(digest).rstrip(b"=").decode()

    def packed(self) -> str:
        """Return the attempt as a cookie's value."""
        return urlsafe_b64encode(orjson.dumps(asdict(self))).decode()

    @classmethod
    def unpacked(cls, text: str) -> Self | None:
        """Return the attempt of a cookie's value, or None if it is none."""
        try:
            found = orjson.loads(urlsafe_b64decode(text.encode()))
            attempt = cls(**found)
        except (ValueError, TypeError):
            return None
        return attempt if all(isinstance(one, str) for one in asdict(attempt).values()) else None
