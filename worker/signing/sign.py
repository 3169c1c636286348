"""Signatures over the exact bytes that are sent: `X-Hub-Signature` and Standard Webhooks."""

import binascii
from base64 import b64decode, b64encode
from hmac import compare_digest, digest

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from store.clock import SECOND

PREFIX = "whsec_"


class Signer:
    """A signer with one secret.

    The work that depends only on the secret is done once.
    """

    __slots__ = ("_sha1", "_sha256", "_standard")

    def __init__(self, secret: str) -> None:
        key = secret.encode()
        self._sha1 = HMAC(key, SHA1())  # noqa: S303 - receivers of the older header expect SHA-1
        self._sha256 = HMAC(key, SHA256())
        self._standard = HMAC(standard_key(secret), SHA256())

    def hub(self, body: bytes) -> tuple[str, str]:
        """Return the values of `X-Hub-Signature` (`sha1=<hex>`) and `X-Hub-Signature-256`
        (`sha256=<hex>`).
        """
        return self.sha1(body), self.sha256(body)

    def sha1(self, body: bytes) -> str:
        """Return the value of `X-Hub-Signature`: `sha1=<hex>`."""
        return f"sha1={_signed(self._sha1, body).hex()}"

    def sha256(self, body: bytes) -> str:
        """Return the value of `X-Hub-Signature-256`: `sha256=<hex>`."""
        return f"sha256={_signed(self._sha256, body).hex()}"

    def standard(self, message_id: str, timestamp: int, body: bytes) -> str:
        """Return the value of `webhook-signature`: `v1,<base64>`.

        `timestamp` is in whole seconds.
        """
        before = b"%b.%d." % (message_id.encode(), timestamp)
        return f"v1,{b64encode(_signed(self._standard, before, body)).decode()}"


class AsymmetricSigner:
    """A signer with one Ed25519 key. It signs until a time (microseconds), or without an end."""

    __slots__ = ("_key", "_until")

    def __init__(self, seed: bytes, until: int | None = None) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self._until = until

    def signs(self, timestamp: int) -> bool:
        """Return whether the key still signs at this time (seconds)."""
        return self._until is None or timestamp * SECOND < self._until

    def standard(self, message_id: str, timestamp: int, body: bytes) -> str:
        """Return a signature for `webhook-signature`: `v1a,<base64>`."""
        signed = self._key.sign(b"%b.%d.%b" % (message_id.encode(), timestamp, body))
        return f"v1a,{b64encode(signed).decode()}"


def _signed(prepared: HMAC, *parts: bytes) -> bytes:
    hmac = prepared.copy()
    for part in parts:
        hmac.update(part)
    return hmac.finalize()


def standard_key(secret: str) -> bytes:
    """Return the key that a secret stands for in Standard Webhooks 1.0.0.

    If the secret is `whsec_` and base64, with or without padding, the key is the decoded value.
    Otherwise the key is the secret's UTF-8 bytes. This includes secrets with invalid base64.
    """
    if secret.startswith(PREFIX):
        encoded = secret[len(PREFIX) :]
        try:
            padded = encoded + "=" * (-len(encoded) % 4)
            return b64decode(padded, validate=True) or secret.encode()
        except (binascii.Error, ValueError):
            pass  # ValueError: the secret is not ASCII
    return secret.encode()


def verify_hub(secret: str, body: bytes, header: str) -> bool:
    """Return whether `header` (`sha1=<hex>` or `sha256=<hex>`) signs `body`.

    The comparison takes constant time.
    """
    algorithm, _, given = header.partition("=")
    if algorithm not in ("sha1", "sha256"):
        return False
    expected = digest(secret.encode(), body, algorithm).hex()
    return compare_digest(expected.encode(), _bytes(given))


def verify_standard(secret: str, message_id: str, timestamp: str, body: bytes, header: str) -> bool:
    """Return whether one of the signatures in `header` (separated by spaces) is valid.

    The comparison takes constant time. The timestamp is only part of the signed text: the caller
    decides how old a message may be.
    """
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 20):
        return False
    expected = Signer(secret).standard(message_id, int(timestamp), body).encode()
    return any(compare_digest(expected, _bytes(given)) for given in header.split(" "))


def _bytes(header: str) -> bytes:
    return header.encode(errors="replace")
