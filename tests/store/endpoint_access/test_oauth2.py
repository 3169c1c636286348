"""OAuth 2.0 client credentials: checks when they are saved, and the servers that get secrets."""

from typing import Any

import pytest
from certificates import pem_of
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from pydantic import ValidationError
from store_world import World

from store.endpoint_access import oauth2
from store.endpoint_access.oauth2 import ClientCredentials
from store.endpoint_access.secret_parts import MASK
from store.errors import Invalid
from store.hooks import hooks, option_secrets

URL = "https://tokens.example/token"
USUAL = {"token_url": URL, "client_id": "tocsin", "client_secret": "hunter2"}


@pytest.mark.parametrize(
    "more",
    [
        {"method": "none"},
        {"client_secret": None},
        {"client_secret": ""},
        {"client_secret": "a\nb"},
        {"client_secret": "a" * 1025},
        {"client_id": ""},
        {"token_url": ""},
        {"token_url": "h" * 2049},
        {"scope": "ü"},
        {"private_key": "x"},
        {"method": "private_key_jwt"},
        {"method": "private_key_jwt", "client_secret": None},
        {"method": "private_key_jwt", "client_secret": None, "private_key": "x" * 16385},
        {"unknown": 1},
    ],
)
def test_unusable_credentials(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ClientCredentials.model_validate(USUAL | more)


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (rsa.generate_private_key(65537, 2048), "RS256"),
        (ec.generate_private_key(ec.SECP256R1()), "ES256"),
        (ed25519.Ed25519PrivateKey.generate(), "EdDSA"),
        (ec.generate_private_key(ec.SECP384R1()), None),
        (rsa.generate_private_key(65537, 1024), None),  # noqa: S505 - it must be rejected
    ],
)
def test_keys_and_algorithms(key: Any, algorithm: str | None) -> None:
    if algorithm is None:
        with pytest.raises(Invalid, match="must be RSA"):
            oauth2.check({"private_key": pem_of(key)}, {})
    else:
        assert oauth2.algorithm_of(oauth2.load_key(pem_of(key))) == algorithm


def test_a_wrong_key_is_refused(world: World) -> None:
    options = {"oauth2": {"private_key": "nonsense"}}
    with pytest.raises(Invalid, match="not a private key"):
        world.hook("push", options=options)


def test_oauth2_beside_a_static_authorization_is_refused(world: World) -> None:
    options = {"oauth2": USUAL, "headers": {"authorization": "Basic x"}}
    with pytest.raises(Invalid, match="either oauth2 or the header"):
        world.hook("push", options=options)


def test_the_secret_stays_with_both_servers(world: World) -> None:
    hook = world.hook("push", options={"oauth2": USUAL})
    masked = USUAL | {"client_secret": MASK}
    assert hook["options"] == {"oauth2": masked}
    hook = world.store.write_sync(hooks.update, hook, options={"oauth2": masked | {"scope": "a"}})
    assert (
        world.store.read_sync(option_secrets.revealed, hook)["oauth2"]["client_secret"] == "hunter2"
    )
    moved = {"oauth2": masked | {"token_url": "https://other.example/token"}}
    with pytest.raises(Invalid, match="token_url is on another server"):
        world.store.write_sync(hooks.update, hook, options=moved)
    with pytest.raises(Invalid, match="the new URL is on another server"):
        world.store.write_sync(hooks.update, hook, url="https://other.example/in")
