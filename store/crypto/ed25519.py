"""Ed25519 keys of Standard Webhooks: `whsk_` and `whpk_` with base64, and JWK."""

import binascii
import hashlib
from base64 import b64decode, b64encode, urlsafe_b64encode

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PRIVATE, PUBLIC = "whsk_", "whpk_"
SEED = 32
KID = 16
"""The length of a key's id: the beginning of its thumbprint."""

Jwk = dict[str, str]


def new_seed() -> bytes:
    """Return the seed of a new private key."""
    return Ed25519PrivateKey.generate().private_bytes_raw()


def public_of(seed: bytes) -> bytes:
    """Return the public key of a private key."""
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def read_private(text: str) -> bytes:
    """Return the seed in a text: `whsk_` and the base64 of 32 or 64 bytes.

    The specification does not say which form it means. The longer one is the seed and the public
    key. Raises ValueError if it is neither, or if the two do not belong together.
    """
    if not text.startswith(PRIVATE):
        raise ValueError(f"a private key begins with {PRIVATE}")
    encoded = text[len(PRIVATE) :]
    try:
        decoded = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{PRIVATE} is not followed by base64") from None
    if len(decoded) not in (SEED, 2 * SEED):
        raise ValueError("a private key has 32 bytes, or 64 with the public key")
    seed, public = decoded[:SEED], decoded[SEED:]
    if public and public != public_of(seed):
        raise ValueError("the second half is not the public key of the first")
    return seed


def write_private(seed: bytes) -> str:
    """Return a private key as text, in the form of 32 bytes."""
    return PRIVATE + b64encode(seed).decode()


def write_public(public: bytes) -> str:
    """Return a public key as text."""
    return PUBLIC + b64encode(public).decode()


def jwk(public: bytes) -> Jwk:
    """Return a public key as a JWK (RFC 8037), whose id is from its thumbprint (RFC 7638)."""
    key = {"crv": "Ed25519", "kty": "OKP", "x": _url_base64(public)}
    thumbprint = hashlib.sha256(orjson.dumps(key, option=orjson.OPT_SORT_KEYS)).digest()
    return {**key, "alg": "EdDSA", "use": "sig", "kid": _url_base64(thumbprint)[:KID]}


def _url_base64(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()
