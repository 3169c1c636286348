"""An app's key, and the JSON Web Tokens that are signed with it."""

import json
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

PEM = serialization.Encoding.PEM


@cache
def _private(number: int) -> rsa.RSAPrivateKey:
    # The object is cached, because loading a key from PEM checks its primes. That takes longer
    # than most requests.
    return rsa.generate_private_key(public_exponent=65_537, key_size=2048)


@cache
def app_key(number: int) -> tuple[str, str]:
    """The private and the public key with this number, as PEM."""
    private = _private(number)
    secret = private.private_bytes(
        PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    shown = private.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return secret.decode(), shown.decode()


def signed_token(issuer: Any, now: int, *, key: int = 0, **claims: Any) -> str:
    """A JSON Web Token that the app `issuer` signs at `now`, in seconds.

    A claim with the value `...` is left out.
    """
    given = {"iss": issuer, "iat": now - 60, "exp": now + 300, **claims}
    wanted = {name: value for name, value in given.items() if value is not ...}
    return jwt.PyJWS().encode(json.dumps(wanted).encode(), _private(key), algorithm="RS256")
