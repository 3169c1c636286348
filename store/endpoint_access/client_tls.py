"""Client certificates and certificate authorities of a hook, validated when they are saved."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from store.clock import SECOND
from store.errors import Invalid

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

MOST_BYTES = 65536

Pem = Annotated[str, Field(max_length=MOST_BYTES)]


class ClientTls(BaseModel):
    """How a hook connects with TLS. Certificates and keys are in PEM, inline."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    client_cert: Pem | None = Field(
        None, description="client certificate, followed by its intermediate certificates"
    )
    client_key: Pem | None = Field(
        None, repr=False, description="private key; asterisks mean the stored one"
    )
    ca: Pem | None = Field(
        None, description="certificate authorities to trust, in place of the system's"
    )
    verify_hostname: bool | None = Field(
        None, description="whether the certificate must have the URL's host name; true by default"
    )
    min_version: Literal["1.2", "1.3"] | None = Field(None, description="lowest version of TLS")


def check(tls: dict[str, Any], url: str, now: int) -> int | None:
    """Return when the first certificate in use ends. Raises Invalid if the material is not usable.

    Times are in microseconds.
    """
    given = [str(tls[name]) for name in ("client_cert", "client_key", "ca") if tls.get(name)]
    if sum(len(text.encode()) for text in given) > MOST_BYTES:
        raise _invalid(f"certificates and keys must have at most {MOST_BYTES} bytes")
    if given and not url.lower().startswith("https:"):
        raise _invalid("certificates need a URL with https")
    ends = [*_client_end(tls, now), *_authorities_end(tls, now)]
    return min(ends, default=None)


def _client_end(tls: dict[str, Any], now: int) -> list[int]:
    certificate, key = tls.get("client_cert"), tls.get("client_key")
    if not certificate and not key:
        return []
    if not (certificate and key):
        raise _invalid("client_cert and client_key belong together")
    chain = _certificates("client_cert", certificate)
    if _public_bytes(chain[0]) != _public_bytes(_private_key(key)):
        raise _invalid("client_key does not belong to client_cert")
    _check_order(chain)
    end = min(map(_end_of, chain))
    if end <= now:
        raise _invalid(f"client_cert has expired on {_day(end)}")
    return [end]


def _authorities_end(tls: dict[str, Any], now: int) -> list[int]:
    if not tls.get("ca"):
        return []
    # A bundle may still list former authorities.
    end = max(map(_end_of, _certificates("ca", tls["ca"])))
    if end <= now:
        raise _invalid(f"ca has expired on {_day(end)}")
    return [end]


def _certificates(name: str, pem: str) -> "list[Certificate]":
    # Imported here, because most hooks have no certificates.
    from cryptography.x509 import load_pem_x509_certificates

    try:
        return load_pem_x509_certificates(pem.encode())
    except ValueError:
        raise _invalid(f"{name} is not a list of certificates in PEM") from None


def _private_key(pem: str) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(pem.encode(), None)
    except TypeError:
        raise _invalid("client_key is protected by a password: remove it first") from None
    except (ValueError, UnsupportedAlgorithm):
        raise _invalid("client_key is not a private key in PEM") from None


def _public_bytes(owner: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    found: bytes = owner.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return found


def _check_order(chain: "Sequence[Certificate]") -> None:
    from cryptography.exceptions import InvalidSignature

    for number, (one, issuer) in enumerate(pairwise(chain), 1):
        try:
            one.verify_directly_issued_by(issuer)
        except (ValueError, TypeError, InvalidSignature):
            message = f"certificate {number + 1} of client_cert did not issue certificate {number}"
            raise _invalid(message) from None


def _end_of(certificate: "Certificate") -> int:
    return int(certificate.not_valid_after_utc.timestamp()) * SECOND


def _day(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment / SECOND, UTC):%Y-%m-%d}"


def _invalid(message: str) -> Invalid:
    return Invalid(message, field="tls", resource="Hook")
