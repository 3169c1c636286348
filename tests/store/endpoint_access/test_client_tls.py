"""Client certificates and authorities: checks when they are saved, and their expiry."""

from typing import Any

import pytest
from certificates import DAY, LATE, NOW, Authority, pem_of
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)
from pydantic import ValidationError

from store.clock import SECOND
from store.endpoint_access import client_tls
from store.endpoint_access.client_tls import MOST_BYTES, ClientTls
from store.errors import Invalid

URL = "https://receiver.example/in"
HERE = int(NOW.timestamp()) * SECOND


@pytest.fixture(scope="module")
def ca() -> Authority:
    return Authority()


def end(tls: dict[str, Any], url: str = URL) -> int | None:
    return client_tls.check(tls, url, HERE)


def client(pair: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"client_cert": pair[0], "client_key": pair[1], **more}


def test_nothing_ends_without_certificates() -> None:
    assert end({}) is None
    assert end({"min_version": "1.3", "verify_hostname": False}, "http://receiver.example/") is None


@pytest.mark.parametrize(
    "key",
    [
        lambda: ec.generate_private_key(ec.SECP384R1()),
        lambda: rsa.generate_private_key(65537, 2048),
        ed25519.Ed25519PrivateKey.generate,
    ],
)
def test_a_certificate_with_its_key_is_accepted(ca: Authority, key: Any) -> None:
    ends = NOW + 30 * DAY
    assert end(client(ca.issue(ends=ends, key=key()))) == int(ends.timestamp()) * SECOND


def test_the_first_certificate_to_end_counts(ca: Authority) -> None:
    soon = NOW + 5 * DAY
    between = Authority("between", ca, ends=soon)
    certificate, key = between.issue(ends=NOW + 30 * DAY)
    chain = {"client_cert": certificate + between.pem + ca.pem, "client_key": key}
    assert end(chain) == int(soon.timestamp()) * SECOND
    assert end(client(ca.issue(), ca=between.pem)) == int(soon.timestamp()) * SECOND


def test_a_bundle_may_list_former_authorities(ca: Authority) -> None:
    former = Authority("former", ends=NOW - DAY)
    assert end({"ca": former.pem + ca.pem}) == int(LATE.timestamp()) * SECOND
    with pytest.raises(Invalid, match="ca has expired on"):
        end({"ca": former.pem})


def _locked(ca: Authority) -> dict[str, Any]:
    key = ec.generate_private_key(ec.SECP256R1())
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    return client((ca.issue(key=key)[0], locked.decode()))


@pytest.mark.parametrize(
    ("tls", "said"),
    [
        (lambda ca: client((ca.issue()[0], ca.issue()[1])), "does not belong to client_cert"),
        (lambda ca: client(ca.issue(ends=NOW - DAY)), "client_cert has expired on"),
        (lambda ca: {"client_cert": ca.issue()[0]}, "belong together"),
        (lambda ca: {"client_key": ca.issue()[1]}, "belong together"),
        (lambda ca: client(("nonsense", ca.issue()[1])), "client_cert is not a list"),
        (lambda ca: client((ca.issue()[0], "nonsense")), "client_key is not a private key"),
        (_locked, "protected by a password"),
        (lambda ca: {"ca": "nonsense"}, "ca is not a list"),
        (lambda ca: {"ca": ca.issue()[1]}, "ca is not a list"),
        (
            lambda ca: client((ca.issue()[0] + Authority("other").pem, "")) | {"client_key": "-"},
            "client_key is not",
        ),
    ],
)
def test_unusable_certificates_and_keys_are_refused(ca: Authority, tls: Any, said: str) -> None:
    with pytest.raises(Invalid, match=said) as error:
        end(tls(ca))
    assert "PRIVATE KEY" not in str(error.value)


def test_a_chain_in_the_wrong_order_is_refused(ca: Authority) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = ca.issue(key=key)[0]
    with pytest.raises(Invalid, match="certificate 2 of client_cert did not issue certificate 1"):
        end(client((certificate + Authority("other").pem, pem_of(key))))


def test_certificates_need_https(ca: Authority) -> None:
    with pytest.raises(Invalid, match="https"):
        end({"ca": ca.pem}, "http://receiver.example/in")


def test_certificates_beyond_the_size_are_refused(ca: Authority) -> None:
    room = MOST_BYTES - len(ca.pem)
    assert end({"ca": ca.pem + " " * room}) is not None
    with pytest.raises(Invalid, match="65536 bytes"):
        end({"ca": ca.pem + " " * (room + 1)})
    with pytest.raises(ValidationError):
        ClientTls(ca=" " * (MOST_BYTES + 1))


def test_no_repr_shows_a_key(ca: Authority) -> None:
    assert "PRIVATE" not in repr(ClientTls(**client(ca.issue())))
