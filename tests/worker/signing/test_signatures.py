"""The signature headers of deliveries: the requested schemes, by a secret or by private keys."""

import base64
import marshal
from datetime import UTC, datetime
from typing import Any

import pytest
from nacl.signing import VerifyKey
from standardwebhooks import Webhook

from store.clock import SECOND
from store.crypto import ed25519
from store.hooks.hook_options import SIGNATURES
from store.hooks.signing_keys import SigningKey
from worker.delivery.target_loader import signatures_of
from worker.signing.secret_rotation import SecretOverlap
from worker.signing.sign import AsymmetricSigner, Signer
from worker.signing.signatures import DeliverySignatures, signatures_from

SEED = bytes(range(32))
ID, TIME, BODY = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", 1674087231, b'{"test":2432232314}'
SIGNATURE = (
    "v1a,3SAFKYeJd8U0GfiPo2QsUWxlBMHqxGsLElciXWhgHXO9OrgRTBTJ94iHSroAK+eKeMOSRzoteHLPZaRvgf3aDg=="
)
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
HMAC = "v1,iCyCncHh5rYdSHJB3GYpA0b4el5X80NNkVLfcn4qQ/E="


def headers(signatures: DeliverySignatures, **given: Any) -> dict[str, str]:
    lines = signatures.headers(ID, BODY, TIME, **given).split("\r\n")
    return dict(line.split(": ", 1) for line in lines if line)


def test_signatures_match_the_official_vector() -> None:
    assert AsymmetricSigner(SEED).standard(ID, TIME, BODY) == SIGNATURE
    assert Signer(SECRET).standard(ID, TIME, BODY) == HMAC


def test_signatures_match_the_vector_of_svix() -> None:
    """The vector is in the server and the manual of Svix. Its private key has the long form."""
    key = (
        "whsk_"
        "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
    )
    seed = ed25519.read_private(key)
    assert ed25519.write_public(ed25519.public_of(seed)) == (
        "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
    )
    given = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert AsymmetricSigner(seed).standard(*given) == (
        "v1a,"
        "hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
    )


def test_another_library_verifies_it() -> None:
    key = VerifyKey(base64.b64decode("A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="))
    signature = base64.b64decode(SIGNATURE.removeprefix("v1a,"))
    key.verify(f"{ID}.{TIME}.".encode() + BODY, signature)


def test_default_signatures_are_three_headers() -> None:
    found = headers(signatures_of({}, SECRET, ()))
    assert [*found] == ["X-Hub-Signature", "X-Hub-Signature-256", "webhook-signature"]
    assert found["webhook-signature"] == HMAC
    assert headers(DeliverySignatures()) == {}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (("sha256",), ["X-Hub-Signature-256"]),
        (("sha1",), ["X-Hub-Signature"]),
        (("v1",), ["webhook-signature"]),
        (("v1a",), ["webhook-signature"]),
        (("sha256", "v1"), ["X-Hub-Signature-256", "webhook-signature"]),
    ],
)
def test_only_requested_signatures_are_sent(wanted: tuple[str, ...], expected: list[str]) -> None:
    keys = (AsymmetricSigner(SEED),) if "v1a" in wanted else ()
    found = headers(DeliverySignatures(Signer(SECRET), keys=keys, wanted=wanted))
    assert [*found] == expected


def test_both_schemes_in_one_header() -> None:
    wanted = (*SIGNATURES, "v1a")
    found = headers(DeliverySignatures(Signer(SECRET), None, (AsymmetricSigner(SEED),), wanted))
    assert found["webhook-signature"] == f"{HMAC} {SIGNATURE}"


def test_a_key_needs_no_secret() -> None:
    found = headers(DeliverySignatures(keys=(AsymmetricSigner(SEED),), wanted=("sha256", "v1a")))
    assert found == {"webhook-signature": SIGNATURE}


def test_a_former_key_signs_until_its_end() -> None:
    other = bytes(reversed(SEED))
    for until, many in ((TIME + 1, 2), (TIME, 1)):
        keys = (AsymmetricSigner(SEED), AsymmetricSigner(other, until * SECOND))
        found = headers(DeliverySignatures(keys=keys, wanted=("v1a",)))
        assert len(found["webhook-signature"].split(" ")) == many


def test_a_former_secret_and_a_key_sign_together() -> None:
    overlap = SecretOverlap((TIME + 1) * SECOND, "old", Signer("old"))
    signatures = DeliverySignatures(
        Signer(SECRET), overlap, (AsymmetricSigner(SEED),), ("sha256", "v1", "v1a")
    )
    for new_first in (False, True):
        found = headers(signatures, new_first=new_first)
        first, other = ("old", SECRET)[:: -1 if new_first else 1]
        assert found["X-Hub-Signature-256"] == Signer(first).sha256(BODY)
        assert found["X-Hub-Signature-256-Alternate"] == Signer(other).sha256(BODY)
        parts = found["webhook-signature"].split(" ")
        assert [part.partition(",")[0] for part in parts] == ["v1", "v1", "v1a"]


def test_a_library_that_knows_only_v1_accepts_both() -> None:
    now = int(datetime.now(UTC).timestamp())
    signatures = DeliverySignatures(Signer(SECRET), None, (AsymmetricSigner(SEED),), ("v1a", "v1"))
    line = signatures.headers(ID, BODY, now).strip().removeprefix("webhook-signature: ")
    given = {"webhook-id": ID, "webhook-timestamp": str(now), "webhook-signature": line}
    assert Webhook(SECRET).verify(BODY, given) == {"test": 2432232314}


def test_another_process_makes_the_same_signatures() -> None:
    keys = [SigningKey(SEED, None), SigningKey(SEED, TIME * SECOND)]
    for secret in (SECRET, None):
        made = signatures_of({"signatures": ["sha256", "v1", "v1a"]}, secret, keys)
        assert made.material is not None
        sent = marshal.loads(marshal.dumps(made.material))  # noqa: S302 - as the channel does
        assert headers(signatures_from(sent)) == headers(made)
        assert SECRET not in repr(made)
