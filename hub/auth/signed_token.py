"""JSON Web Tokens in their compact form (RFC 7515), with the one algorithm RS256.

The algorithm is fixed, so a token cannot choose a weaker one. A library for all algorithms would be
one more package for this module alone.
"""

import binascii
import re
from base64 import urlsafe_b64decode
from dataclasses import dataclass, field
from typing import Any

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key

ALGORITHM = "RS256"
LONGEST = 10_000
BASE64URL = re.compile(r"[A-Za-z0-9_-]+")


class Undecodable(ValueError):
    """The text is no token with this algorithm."""


@dataclass(frozen=True, slots=True)
class SignedToken:
    """A token whose signature is not verified yet."""

    claims: dict[str, Any]
    signed: bytes
    signature: bytes = field(repr=False)

    def is_signed_by(self, public_key: str) -> bool:
        """Return whether the private half of an RSA key (PEM) has signed the token."""
        key = load_pem_public_key(public_key.encode())
        assert isinstance(key, rsa.RSAPublicKey), "only such keys are stored"
        try:
            key.verify(self.signature, self.signed, padding.PKCS1v15(), SHA256())
        except InvalidSignature:
            return False
        return True


def decode(value: str) -> SignedToken:
    """Return the parts of a token. Raises Undecodable."""
    parts = value.split(".")
    if len(parts) != 3 or len(value) > LONGEST or not value.isascii():
        raise Undecodable("a token has three parts")
    header, claims = _object(parts[0]), _object(parts[1])
    if header.get("alg") != ALGORITHM or "crit" in header:
        raise Undecodable(f"the algorithm is not {ALGORITHM}")
    signed = value.rpartition(".")[0].encode()
    return SignedToken(claims, signed, _bytes(parts[2]))


def _object(part: str) -> dict[str, Any]:
    try:
        found = orjson.loads(_bytes(part))
    except orjson.JSONDecodeError:
        raise Undecodable("a part is no JSON") from None
    if not isinstance(found, dict):
        raise Undecodable("a part is no JSON object")
    return found


def _bytes(part: str) -> bytes:
    # Decoders leave out characters that are not in the alphabet.
    if not BASE64URL.fullmatch(part):
        raise Undecodable("a part is not in base64url without padding")
    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except binascii.Error:
        raise Undecodable("a part is not in base64url") from None
