"""The verification of ID tokens (OpenID Connect Core, 3.1.3.7)."""

from base64 import urlsafe_b64decode
from dataclasses import dataclass, field
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from hub.openid import bounded_json
from hub.openid.errors import SignInFailed

# `none` is not signed. With HMAC, everyone who knows the client's secret could sign.
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    # The name of RFC 9864 for EdDSA.
    "Ed25519",
)  # fmt: skip
# Seconds by which the provider's clock may differ.
LEEWAY = 60
MOST_CHARACTERS = 32_000
# The periods in an encrypted token (RFC 7516).
ENCRYPTED = 4


class Registry(jws.JWSRegistry):
    """Ignores unknown members of the header, as RFC 7515 requires, and accepts certificates."""

    max_header_length = MOST_CHARACTERS
    max_signature_length = MOST_CHARACTERS


REGISTRY = Registry(algorithms=ALGORITHMS, strict_check_header=False)

Claims = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ExpectedClaims:
    """The values that an ID token must have. `now` is in seconds."""

    issuer: str
    client_id: str
    nonce: str = field(repr=False)
    now: int


def is_signed_by(token: str, keys: KeySet) -> bool:
    """Return whether one of the keys has signed a token. Raises SignInFailed if it is unusable."""
    try:
        _decoded(token, keys)
    except (JoseError, ValueError, TypeError):
        return False
    return True


def _decoded(token: str, keys: KeySet) -> jwt.Token:
    if len(token) > MOST_CHARACTERS:
        raise SignInFailed("The provider sent an ID token that is too long.")
    if token.count(".") == ENCRYPTED:
        raise SignInFailed(
            "The provider sent an ID token that is encrypted. Let it only sign the ID tokens for"
            " this client."
        )
    for part in token.split(".")[:2]:
        _check_json(part)
    return jwt.decode(token, keys, registry=REGISTRY)


def _check_json(part: str) -> None:
    """Raise ValueError if a part of a token is not bounded JSON. The library has no bound."""
    bounded_json.parse(urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def verify(token: str, keys: KeySet, expected: ExpectedClaims) -> Claims:
    """Return the claims of a token. Raises SignInFailed if the token is not valid."""
    registry = jwt.JWTClaimsRegistry(
        now=expected.now,
        leeway=LEEWAY,
        iss={"essential": True, "value": expected.issuer},
        aud={"essential": True, "value": expected.client_id},
        nonce={"essential": True, "value": expected.nonce},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
    )
    try:
        claims = _decoded(token, keys).claims
        registry.validate(claims)
    except (JoseError, ValueError, TypeError) as error:
        why = str(error) or type(error).__name__
        raise SignInFailed(f"The provider sent an ID token that is not valid: {why}.") from None
    _check_parties(claims, expected.client_id)
    return claims


def _check_parties(claims: Claims, client_id: str) -> None:
    """Raise SignInFailed if the token was issued to another client.

    A token for several clients must name this one in `azp`.
    """
    audience = claims["aud"]
    several = isinstance(audience, list) and len(audience) > 1
    party = claims.get("azp")
    if (several and party is None) or (party is not None and party != client_id):
        raise SignInFailed("The provider sent an ID token that was issued to another client.")
