"""The settings of an OpenID Connect provider: invalid values, and sources of the client secret."""

from pathlib import Path
from typing import Any

import pytest
from certificate_authority import Authority
from openid_site import CLIENT, SECRET
from pydantic import ValidationError

from hub import openid_settings
from hub.openid_settings import client_secret, tls_context
from hub.settings import HubSettings
from store.errors import Unusable

BROKEN = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    "wrong",
    [
        {"openid_issuer": "http://elsewhere.example"},
        {"openid_issuer": "https://tower.example/?a=1"},
        {"openid_issuer": "https://tower.example:84430"},
        {"openid_issuer": "https://tower.example/a\n"},
        {"openid_issuer": " https://tower.example"},
        {"openid_issuer": "https://tower.example "},
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


@pytest.mark.parametrize("content", [None, "", "no certificate", BROKEN])
def test_a_file_without_authorities_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(Unusable, match="openid_ca"):
        tls_context(HubSettings(openid_ca=path))


def test_only_the_authorities_of_the_setting_are_trusted(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    path = tmp_path / "ca.pem"
    path.write_text(f"# Das Zertifikat des Türmers\n{authority.certificate.read_text()}")
    (one,) = tls_context(HubSettings(openid_ca=path)).get_ca_certs()
    assert "tests' authority" in str(one["subject"])


def test_the_machines_authorities_are_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(Authority(tmp_path).certificate))
    openid_settings.machine_context.cache_clear()
    found = tls_context(HubSettings()).get_ca_certs()
    openid_settings.machine_context.cache_clear()
    assert any("tests' authority" in str(one["subject"]) for one in found)
