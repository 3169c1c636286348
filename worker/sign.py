"""Signatures over the exact bytes that are sent: `X-Hub-Signature` and Standard Webhooks."""

import binascii
import hashlib
from base64 import b64decode, b64encode
from hmac import compare_digest, digest

PREFIX = "whsec_"


def hub_signatures(secret: bytes, body: bytes) -> tuple[str, str]:
    """The values of `X-Hub-Signature` (`sha1=<hex>`) and `X-Hub-Signature-256` (`sha256=<hex>`)."""
    return (
        "sha1=" + digest(secret, body, "sha1").hex(),
        "sha256=" + digest(secret, body, "sha256").hex(),
    )


def standard_key(secret: str) -> bytes:
    """The key that a secret stands for in Standard Webhooks 1.0.0.

    `whsec_` and base64, with or without its padding, is the decoded key; anything else, also what
    is no valid base64, is taken as its UTF-8 bytes.
    """
    if secret.startswith(PREFIX):
        encoded = secret[len(PREFIX) :]
        try:
            padded = encoded + "=" * (-len(encoded) % 4)
            return b64decode(padded, validate=True) or secret.encode()
        except (binascii.Error, ValueError):
            pass  # ValueError: not ASCII
    return secret.encode()


def standard_signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`: `v1,<base64>`; `timestamp` in whole seconds."""
    signed = b"%b.%d.%b" % (message_id.encode(), timestamp, body)
    return "v1," + b64encode(digest(key, signed, hashlib.sha256)).decode()


def verify_hub(secret: str, body: bytes, header: str) -> bool:
    """Whether `header` (`sha1=<hex>` or `sha256=<hex>`) signs `body`; takes constant time."""
    algorithm, _, given = header.partition("=")
    if algorithm not in ("sha1", "sha256"):
        return False
    expected = digest(secret.encode(), body, algorithm).hex()
    return compare_digest(expected.encode(), _bytes(given))


def verify_standard(secret: str, message_id: str, timestamp: str, body: bytes, header: str) -> bool:
    """Whether one of the signatures in `header` (separated by spaces) is ours; constant time.

    The timestamp is only part of what is signed: how old a message may be is the caller's rule.
    """
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 20):
        return False
    expected = standard_signature(standard_key(secret), message_id, int(timestamp), body).encode()
    return any(compare_digest(expected, _bytes(given)) for given in header.split(" "))


def _bytes(header: str) -> bytes:
    return header.encode(errors="replace")
