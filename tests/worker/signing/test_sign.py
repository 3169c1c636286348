"""Signatures: they match published vectors and an independent implementation."""

import hashlib
import hmac
from base64 import b64encode
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from worker.signing import sign

SECRET = "It's a Secret to Everybody"
BODY = b"Hello, World!"
SHA256 = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
# This example is in the documentation of Standard Webhooks and in the tests of its libraries.
STANDARD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
STANDARD_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
STANDARD_TIME = 1614265330
STANDARD_BODY = b'{"test": 2432232314}'
STANDARD_SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_hub_signature_matches_the_official_vector():
    sha1, sha256 = sign.Signer(SECRET).hub(BODY)
    assert sha256 == SHA256
    assert sha1 == "sha1=" + hmac.new(SECRET.encode(), BODY, hashlib.sha1).hexdigest()


def test_a_standard_signature_matches_the_official_vector():
    signed = sign.Signer(STANDARD_SECRET).standard(STANDARD_ID, STANDARD_TIME, STANDARD_BODY)
    assert signed == STANDARD_SIGNATURE


@given(st.binary(min_size=1, max_size=64), st.text(max_size=200))
def test_standardwebhooks_verifies_our_signatures(key: bytes, text: str):
    body = orjson.dumps({"text": text})
    now = int(datetime.now(UTC).timestamp())
    secret = sign.PREFIX + b64encode(key).decode()
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(now),
        "webhook-signature": sign.Signer(secret).standard("msg_1", now, body),
    }
    assert Webhook(secret).verify(body, headers) == {"text": text}
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body + b" ", headers)


@pytest.mark.parametrize(
    ("secret", "key"),
    [
        ("whsec_AAEC", b"\x00\x01\x02"),
        ("plain", b"plain"),
        ("whsec_no base64!", b"whsec_no base64!"),
        ("whsec_AAE", b"\x00\x01"),  # the published libraries accept it without padding
        ("whsec_AAECA=", b"whsec_AAECA="),
        ("whsec_AAECA", b"whsec_AAECA"),
        ("whsec_", b"whsec_"),
        ("whsec_schlüssel", "whsec_schlüssel".encode()),
        ("Geheimnis für alle ✓", "Geheimnis für alle ✓".encode()),
        ("WHSEC_AAEC", b"WHSEC_AAEC"),
    ],
)
def test_a_secret_becomes_its_key(secret: str, key: bytes):
    assert sign.standard_key(secret) == key


@pytest.mark.parametrize("secret", [SECRET, "ключ ✓ für", "a"])
def test_both_hub_signatures_verify(secret: str):
    body = "Grüße ✓".encode()
    for header in sign.Signer(secret).hub(body):
        assert sign.verify_hub(secret, body, header)
        assert not sign.verify_hub(secret + "x", body, header)
        assert not sign.verify_hub(secret, body + b" ", header)


@pytest.mark.parametrize(
    "header",
    ["", "=", "sha256=", "sha1", "md5=00", "sha256=ü", "sha256=\udcff", SHA256[:-1], SHA256[7:]],
)
def test_odd_headers_do_not_verify(header: str):
    assert not sign.verify_hub(SECRET, BODY, header)


def test_verification_accepts_the_right_signature_only():
    given = (STANDARD_SECRET, STANDARD_ID, str(STANDARD_TIME), STANDARD_BODY)
    assert sign.verify_standard(*given, STANDARD_SIGNATURE)
    assert sign.verify_standard(*given, "v1,AAAA v2,ü " + STANDARD_SIGNATURE)
    assert not sign.verify_standard(*given, "v1,AAAA")
    assert not sign.verify_standard(
        STANDARD_SECRET, STANDARD_ID, "later", STANDARD_BODY, STANDARD_SIGNATURE
    )
