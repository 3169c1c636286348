"""One attempt to sign in: what the browser keeps while it is at the provider."""

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict, dataclass, field
from typing import Self

import orjson

# Seconds that a person may take at the provider.
LASTS = 600


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """The state, the nonce and the PKCE verifier (RFC 7636) of an attempt, and where it leads.

    `former` is the digest of the session that the browser has, or empty. With the provider's answer
    the browser does not send the cookie of that session, because another site leads there.
    """

    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    next: str
    former: str
    until: int
    """When it ends, in seconds since 1970."""

    @classmethod
    def begin(cls, next_: str, former: str, now: int) -> Self:
        """Return a new attempt that leads to a path of the dashboard. `now` is in seconds."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, next_, former, now + LASTS)

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
        """Return the attempt in a cookie's value, or None if the value is no attempt."""
        try:
            found = orjson.loads(urlsafe_b64decode(text.encode()))
            attempt = cls(**found)
        except (ValueError, TypeError):
            return None
        texts = (attempt.state, attempt.nonce, attempt.verifier, attempt.next, attempt.former)
        right = all(isinstance(one, str) for one in texts) and isinstance(attempt.until, int)
        # PostgreSQL takes no NUL.
        return attempt if right and "\0" not in attempt.former else None

    def is_answered_by(self, state: str, now: int) -> bool:
        """Return whether an answer with this state belongs to this attempt, and comes in time.

        `now` is in seconds.
        """
        return hmac.compare_digest(self.state.encode(), state.encode()) and now < self.until
