"""ID tokens are verified with the provider's keys."""

from base64 import urlsafe_b64encode
from typing import Any

import pytest
from joserfc import jws, jwt
from joserfc.jwe import JWERegistry
from joserfc.jwk import ECKey, Key, KeySet, OKPKey
from openid_site import rsa_key

from hub.openid.errors import SignInFailed
from hub.openid.id_token import ExpectedClaims, is_signed_by, verify

CLAIMS = {"iss": "i", "aud": "c", "sub": "s", "nonce": "n", "iat": 1, "exp": 300}


class Lenient(jws.JWSRegistry):
    """Signs whatever the header has."""

    max_header_length = 100_000


def signed(key: Key, **header: Any) -> str:
    registry = Lenient(algorithms=[header["alg"]], strict_check_header=False)
    return jwt.encode({"kid": key.kid, **header}, dict(CLAIMS), key, registry=registry)


@pytest.mark.parametrize("member", [{"pi.atm": "3"}, {"x5c": ["A" * 3000]}])
def test_a_header_may_have_unknown_members_and_certificates(member: dict[str, Any]) -> None:
    key = rsa_key("first")
    token = signed(key, alg="RS256", **member)
    assert verify(token, KeySet([key]), ExpectedClaims("i", "c", "n", 1)) == CLAIMS


def test_a_critical_member_of_the_header_must_be_known() -> None:
    key = rsa_key("first")
    header = '{"alg":"RS256","kid":"first","crit":["pi.atm"],"pi.atm":"3"}'
    _, rest = signed(key, alg="RS256").split(".", 1)
    token = f"{urlsafe_b64encode(header.encode()).rstrip(b'=').decode()}.{rest}"
    with pytest.raises(SignInFailed, match=r"pi\.atm"):
        verify(token, KeySet([key]), ExpectedClaims("i", "c", "n", 1))


@pytest.mark.parametrize("levels", [33, 1000, 1020, 10_000])
@pytest.mark.parametrize("at", [0, 1])
def test_a_token_that_is_nested_deeply_is_refused(at: int, levels: int) -> None:
    key = rsa_key("first")
    parts = signed(key, alg="RS256").split(".")
    nested = f'{{"alg":"RS256","kid":"first","x":{"[" * levels}{"]" * levels}}}'
    parts[at] = urlsafe_b64encode(nested.encode()).rstrip(b"=").decode()
    with pytest.raises(SignInFailed, match="not valid"):
        verify(".".join(parts), KeySet([key]), ExpectedClaims("i", "c", "n", 1))
    assert not is_signed_by(".".join(parts), KeySet([key]))


def test_a_token_may_be_nested_as_addresses_are() -> None:
    key = rsa_key("first")
    token = signed(key, alg="RS256", x={"a": [{"b": [1]}]})
    assert verify(token, KeySet([key]), ExpectedClaims("i", "c", "n", 1)) == CLAIMS


def test_the_new_name_of_an_algorithm_is_known() -> None:
    key = OKPKey.generate_key("Ed25519", parameters={"kid": "new", "use": "sig"})
    token = signed(key, alg="Ed25519")
    assert verify(token, KeySet([key]), ExpectedClaims("i", "c", "n", 1)) == CLAIMS


def test_an_encrypted_id_token_is_named_so() -> None:
    key = ECKey.generate_key("P-256")
    header = {"alg": "ECDH-ES", "enc": "A128GCM"}
    token = jwt.encode(header, dict(CLAIMS), key, registry=JWERegistry())
    with pytest.raises(SignInFailed, match="encrypted"):
        is_signed_by(token, KeySet([key]))
