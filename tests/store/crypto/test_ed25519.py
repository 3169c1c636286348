"""Ed25519 keys as text: a test vector, both lengths, and invalid keys."""

import base64

import pytest

from store.crypto import ed25519

SEED = bytes(range(32))
SHORT = "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
LONG = (
    "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8DoQe/884Qvh1w3RjnS8CZZ+TWMJulDV8d3IZkElUxuA=="
)
PUBLIC = "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="


@pytest.mark.parametrize("text", [SHORT, LONG, SHORT.rstrip("="), LONG.rstrip("=")])
def test_both_forms_of_a_private_key_are_read(text: str) -> None:
    assert ed25519.read_private(text) == SEED


def test_keys_are_written() -> None:
    assert ed25519.write_private(SEED) == SHORT
    assert ed25519.write_public(ed25519.public_of(SEED)) == PUBLIC


def test_a_public_key_can_be_written_as_a_jwk() -> None:
    key = ed25519.jwk(ed25519.public_of(SEED))
    assert key["x"] == "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"
    assert (key["kty"], key["crv"], key["alg"], key["use"]) == ("OKP", "Ed25519", "EdDSA", "sig")


def test_the_id_is_from_the_thumbprint() -> None:
    """The key is from RFC 8037, and its thumbprint from appendix A.3."""
    x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo="
    key = ed25519.jwk(base64.urlsafe_b64decode(x))
    assert key["kid"] == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"[:16]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("whsec_AAEC", "begins with whsk_"),
        ("whsk_no base64", "not followed by base64"),
        ("whsk_ünï", "not followed by base64"),
        ("whsk_AAEC", "32 bytes, or 64"),
        (LONG[:-6] + "AAAA==", "not the public key"),
    ],
)
def test_an_invalid_key_is_rejected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ed25519.read_private(text)


def test_each_new_key_differs() -> None:
    assert ed25519.new_seed() != ed25519.new_seed()
