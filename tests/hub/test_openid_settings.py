"""The settings of an OpenID Connect provider: invalid values, and sources of the client secret."""

from pathlib import Path
from typing import Any

import pytest
from openid_site import CLIENT, SECRET
from pydantic import ValidationError

from hub.openid_settings import client_secret
from hub.settings import HubSettings
from store.errors import Unusable


@pytest.mark.parametrize(
    "wrong",
    [
        {"openid_issuer": "http://elsewhere.example"},
        {"openid_issuer": "https://tower.example/?a=1"},
        {"openid_issuer": "https://tower.example", "openid_client_id": None},
        {"openid_scopes": "email"},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        HubSettings(**{"openid_client_id": CLIENT, **wrong})


def test_the_secret_is_never_shown(tmp_path: Path) -> None:
    given = {"openid_issuer": "https://tower.example", "openid_client_id": CLIENT}
    made = HubSettings(**given, openid_client_secret=SECRET)
    assert SECRET not in repr(made)
    assert client_secret(made) == SECRET
    path = tmp_path / "secret"
    path.write_text(f"{SECRET}\n")
    assert client_secret(HubSettings(**given, openid_client_secret_file=path)) == SECRET
    assert client_secret(HubSettings(**given)) is None


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff" * 20])
def test_a_file_without_a_secret_is_refused(tmp_path: Path, content: bytes | None) -> None:
    given = {"openid_issuer": "https://tower.example", "openid_client_id": CLIENT}
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Unusable, match="openid_client_secret_file"):
        client_secret(HubSettings(**given, openid_client_secret_file=path))
