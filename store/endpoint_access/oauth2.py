"""OAuth 2.0 client credentials of a hook, validated when they are saved."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from store.errors import Invalid

BASIC, POST, ASSERTION = "client_secret_basic", "client_secret_post", "private_key_jwt"

Text = Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^[ -~]+$")]


class ClientCredentials(BaseModel):
    """How a hook gets access tokens: by the grant of client credentials (RFC 6749, 4.4)."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    token_url: Annotated[str, Field(min_length=1, max_length=2048)] = Field(
        description="where tokens are requested"
    )
    client_id: Text
    method: Literal["client_secret_basic", "client_secret_post", "private_key_jwt"] | None = Field(
        None, description="how the client authenticates; client_secret_basic by default"
    )
    client_secret: Text | None = Field(
        None, repr=False, description="asterisks mean the stored one"
    )
    private_key: Annotated[str, Field(max_length=16384)] | None = Field(
        None, repr=False, description="for private_key_jwt, in PEM; asterisks mean the stored one"
    )
    key_id: Text | None = Field(None, description="the `kid` of the private key")
    scope: Text | None = None
    audience: Text | None = None

    @model_validator(mode="after")
    def _one_credential(self) -> Self:
        wanted = "private_key" if self.method == ASSERTION else "client_secret"
        other = "client_secret" if self.method == ASSERTION else "private_key"
        if not getattr(self, wanted):
            raise ValueError(f"{self.method or BASIC} requires {wanted}")
        if getattr(self, other) is not None:
            raise ValueError(f"{self.method or BASIC} does not use {other}")
        return self


def check(oauth2: dict[str, Any], headers: dict[str, str]) -> None:
    """Raise Invalid if the private key cannot sign, or if a static header is `Authorization`."""
    if any(name.lower() == "authorization" for name in headers):
        raise _invalid("a hook has either oauth2 or the header Authorization")
    key = oauth2.get("private_key")
    if key is not None:
        algorithm_of(load_key(key))


def load_key(pem: str) -> Any:
    """Return a private key. Raises Invalid if it cannot be read."""
    # Imported here, because few hooks have such a key.
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(pem.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _invalid("private_key is not a private key in PEM without a password") from None


def algorithm_of(key: Any) -> str:
    """Return the algorithm of JSON Web Signatures for a key. Raises Invalid if there is none."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(key, rsa.RSAPrivateKey) and key.key_size >= 2048:
        return "RS256"
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
        return "ES256"
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return "EdDSA"
    raise _invalid("private_key must be RSA of at least 2048 bits, P-256 or Ed25519")


def _invalid(message: str) -> Invalid:
    return Invalid(message, field="oauth2", resource="Hook")
