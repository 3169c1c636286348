"""TLS in `tocsin serve`: versions and ciphers, new certificates, and unusable certificates."""

import contextlib
import os
import re
import signal
import socket
import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest
from certificate_authority import DAY, Authority
from cryptography import x509
from service_manager import Manager
from waiting import PATIENCE

from hub.cli.service import tls
from hub.settings import HubSettings
from store import clock
from store.errors import Unusable

HEADERS = {"User-Agent": "tests"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def issued(authority: Authority, tmp_path: Path) -> Authority:
    authority.folder = tmp_path
    return authority


def configured(folder: Path, **more: str) -> None:
    given = {"tls_certificate": f"{folder}/one.crt", "tls_key": f"{folder}/one.key"} | more
    lines = [f'{name} = "{value}"' for name, value in given.items() if value]
    (folder / "tocsin.toml").write_text("\n".join(["port = 0", *lines]) + "\n")


def number_of(manager: Manager, authority: Authority, **how: Any) -> int:
    """Return the serial number of the certificate that a new connection gets."""
    with (
        socket.create_connection(manager.listening.getsockname(), timeout=PATIENCE) as plain,
        authority.trusting.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        der = secure.getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der).serial_number


def reloaded(manager: Manager) -> str:
    manager.signal(signal.SIGHUP)
    return manager.until("^READY=1$")[-1]


def secure(manager: Manager) -> str:
    return manager.url.replace("http://", "https://")


def open_client(authority: Authority) -> httpx.Client:
    """A client that trusts the authority."""
    return httpx.Client(
        verify=authority.trusting,
        trust_env=False,
        headers=HEADERS,
        timeout=PATIENCE,
        limits=httpx.Limits(keepalive_expiry=PATIENCE),
    )


def test_https(manager, issued):
    issued.issue("one")
    configured(issued.folder)
    manager.start()
    assert f"listening on {secure(manager)};" in manager.until("^READY=1$")[-1]
    with open_client(issued) as client:
        answer = client.get(f"{secure(manager)}/")
        assert answer.is_success
        # The links in the response have the URL of the server, too.
        assert answer.json()["rate_limit_url"].startswith(secure(manager))
    with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
        httpx.get(f"{secure(manager)}/versions", trust_env=False, timeout=PATIENCE)
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"{manager.url}/versions", trust_env=False, timeout=PATIENCE)
    manager.signal(signal.SIGTERM)
    code, said = manager.ended()
    assert code == 0
    assert "Traceback" not in said


def test_weak_versions_and_ciphers_are_refused(manager, issued):
    issued.issue("one")
    configured(issued.folder)
    manager.start()
    manager.until("^READY=1$")
    for version, accepted in (
        (ssl.TLSVersion.TLSv1_3, True),
        (ssl.TLSVersion.TLSv1_2, True),
        (ssl.TLSVersion.TLSv1_1, False),
    ):
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        client.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(match="deprecated") if not accepted else contextlib.nullcontext():
            client.minimum_version = client.maximum_version = version
        with socket.create_connection(manager.listening.getsockname(), timeout=PATIENCE) as plain:
            if not accepted:
                with pytest.raises(ssl.SSLError):
                    client.wrap_socket(plain)
                continue
            with client.wrap_socket(plain) as there:
                cipher = (there.cipher() or ("",))[0]
        assert cipher.startswith("TLS_" if version == ssl.TLSVersion.TLSv1_3 else "ECDHE-")
    weak = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    weak.check_hostname, weak.verify_mode = False, ssl.CERT_NONE
    weak.maximum_version = ssl.TLSVersion.TLSv1_2
    weak.set_ciphers("ECDHE-ECDSA-AES128-SHA256:AES128-GCM-SHA256:@SECLEVEL=0")
    with (
        socket.create_connection(manager.listening.getsockname(), timeout=PATIENCE) as plain,
        pytest.raises(ssl.SSLError),
    ):
        weak.wrap_socket(plain)


def local_address(answer: httpx.Response) -> tuple[str, int]:
    """Return the client's address on the connection of a response."""
    found: tuple[str, int] = answer.extensions["network_stream"].get_extra_info("client_addr")
    return found


def test_a_new_certificate_drops_no_connection(manager, issued):
    """The settings name other files, or the files change. Open connections stay open."""
    first, second = issued.issue("one"), issued.issue("two")
    configured(issued.folder)
    manager.start()
    manager.until("^READY=1$")
    with open_client(issued) as client:
        assert number_of(manager, issued) == first
        kept = local_address(client.get(f"{secure(manager)}/versions"))
        configured(
            issued.folder,
            tls_certificate=f"{issued.folder}/two.crt",
            tls_key=f"{issued.folder}/two.key",
        )
        assert "stay as they were" not in reloaded(manager)
        # Use the connection, so that it is not closed as idle.
        assert client.get(f"{secure(manager)}/versions").is_success
        assert number_of(manager, issued) == second
        for name in ("crt", "key"):
            (issued.folder / f"one.{name}").replace(issued.folder / f"two.{name}")
        assert client.get(f"{secure(manager)}/versions").is_success
        reloaded(manager)
        answer = client.get(f"{secure(manager)}/versions")
        assert answer.is_success
        assert local_address(answer) == kept
        assert number_of(manager, issued) == first


def test_the_end_of_the_certificate_in_use_is_measured(manager, issued):
    """A renewed file does not count before a reload, because clients do not get it before."""

    def measured() -> list[int]:
        with open_client(issued) as client:
            lines = client.get(f"{secure(manager)}/metrics").text.splitlines()
        said = dict(line.rsplit(" ", 1) for line in lines)
        names = [f"tocsin_certificate_{end}_timestamp_seconds" for end in ("begins", "ends")]
        return [round(float(said[name])) for name in names]

    def wanted() -> list[int]:
        leaf = tls.leaf_of(issued.folder / "one.crt")
        return [leaf.begins // clock.SECOND, leaf.ends // clock.SECOND]

    issued.issue("one")
    configured(issued.folder)
    manager.start()
    manager.until("^READY=1$")
    first = wanted()
    issued.issue("one", ends=30 * DAY)
    assert measured() == first
    reloaded(manager)
    assert measured() == wanted() != first


def test_a_pair_that_is_wrong_changes_nothing(manager, issued):
    first = issued.issue("one")
    issued.issue("two")
    configured(issued.folder)
    manager.start()
    manager.until("^READY=1$")
    configured(issued.folder, tls_key=f"{issued.folder}/two.key")
    assert "stay as they were" in reloaded(manager)
    assert number_of(manager, issued) == first
    # A reload does not switch from HTTPS to HTTP.
    (issued.folder / "tocsin.toml").write_text("port = 0\nlog_level = 'info'\n")
    assert "stay as they were" not in reloaded(manager)
    assert number_of(manager, issued) == first
    manager.signal(signal.SIGTERM)
    _, said = manager.ended()
    assert "two.key does not match the certificate in" in said
    assert "in force only after a restart: tls_certificate, tls_key\n" in said


def test_a_file_for_the_next_start_is_looked_for_at_a_reload(manager, issued):
    """TLS begins with a restart. An error that would end it is reported while the daemon runs."""
    (issued.folder / "tocsin.toml").write_text("port = 0\nlog_level = 'info'\n")
    manager.start()
    manager.until("^READY=1$")
    configured(issued.folder, tls_certificate=f"{issued.folder}/absent.pem")
    assert "stay as they were" not in reloaded(manager)
    manager.signal(signal.SIGTERM)
    _, said = manager.ended()
    assert f"a restart would fail: tls_certificate: cannot read {issued.folder}/absent.pem" in said


def test_an_encrypted_key_is_opened_with_the_password(manager, issued):
    number = issued.issue("one", password=b"open sesame")
    (issued.folder / "password").write_text("open sesame\n")
    configured(issued.folder, tls_key_password=f"{issued.folder}/password")
    manager.start()
    manager.until("^READY=1$")
    assert number_of(manager, issued) == number


# Unusable certificates and settings.


def settings(folder: Path, **more: Any) -> HubSettings:
    return HubSettings(
        **{"tls_certificate": folder / "one.crt", "tls_key": folder / "one.key"} | more
    )


def test_certificate_and_key_can_be_in_one_file(issued):
    issued.issue("one")
    both = issued.folder / "both.pem"
    both.write_bytes(
        (issued.folder / "one.crt").read_bytes() + (issued.folder / "one.key").read_bytes()
    )
    tls.load(settings(issued.folder, tls_certificate=both, tls_key=None))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda f: (f / "one.crt").unlink(),
            r"tls_certificate: cannot read .*one\.crt: No such file",
        ),
        (lambda f: (f / "one.key").unlink(), r"tls_key: cannot read .*one\.key: No such file"),
        (
            lambda f: (f / "pipe").replace(f / "one.key"),
            r"tls_key: cannot read .*one\.key: it is a pipe",
        ),
        (lambda f: (f / "one.crt").write_text("x"), r"no certificate in .*one\.crt, or no key"),
        (lambda f: (f / "one.key").write_text("x"), r"PEM format in .*, or no key in .*one\.key"),
        (lambda f: (f / "two.key").replace(f / "one.key"), r"one\.key does not match the cert"),
        (lambda f: (f / "sealed.key").replace(f / "one.key"), r"encrypted: set tls_key_password"),
    ],
)
def test_an_unusable_certificate_or_key_is_reported(issued, spoil, said):
    issued.issue("one")
    issued.issue("two")
    issued.issue("sealed", password=b"open sesame")
    os.mkfifo(issued.folder / "pipe")
    spoil(issued.folder)
    with pytest.raises(Unusable, match=said):
        tls.load(settings(issued.folder))


def test_an_unusable_key_stops_the_start(manager, issued):
    issued.issue("one")
    (issued.folder / "one.key").unlink()
    configured(issued.folder)
    manager.start()
    code, said = manager.ended()
    assert code == 4
    assert said.splitlines()[-1].startswith("Error: tls_key: cannot read ")
    assert "Traceback" not in said


def test_a_wrong_password_is_reported_and_not_shown(issued):
    issued.issue("one", password=b"open sesame")
    (issued.folder / "password").write_text("close sesame")
    with pytest.raises(
        Unusable, match="the password in tls_key_password does not decrypt"
    ) as caught:
        tls.load(settings(issued.folder, tls_key_password=issued.folder / "password"))
    assert "sesame" not in str(caught.value)


def test_a_key_without_a_certificate_is_refused(tmp_path):
    for name in ("tls_key", "tls_key_password"):
        with pytest.raises(ValueError, match="require tls_certificate"):
            HubSettings(**{name: tmp_path / "x"})


@pytest.mark.parametrize(
    ("base_url", "host", "ends", "said"),
    [
        (None, "localhost", DAY, None),
        ("https://forge.example/api", "forge.example", DAY, None),
        ("https://hub.forge.example", "*.forge.example", DAY, None),
        ("https://forge.example", "*.forge.example", DAY, "names forge.example, but the cert"),
        ("https://forge.example", "localhost", DAY, "is for localhost, 127.0.0.1"),
        ("http://forge.example", "forge.example", DAY, "with tls_certificate tocsin serves https"),
        ("https://forge.example", "forge.example", -DAY, "is valid from .* to .*, not now"),
        ("https://forge.example", "forge.example", DAY / 2, r"one\.crt ends at \d{4}-.*Z$"),
        ("https://forge.example", "forge.example", 6 * DAY, None),
        ("https://forge.example", "forge.example", 80 * DAY, None),
    ],
)
def test_problems_of_clients_with_a_certificate_are_found(issued, base_url, host, ends, said):
    issued.issue("one", host=host, ends=ends)
    given = settings(issued.folder, base_url=base_url)
    found = list(tls.problems(given, clock.Clock().now()))
    if said is None:
        assert found == []
    else:
        (complaint,) = found
        assert re.search(said, complaint)


def test_a_wrong_name_in_the_certificate_is_logged_at_the_start(manager, issued):
    issued.issue("one")
    configured(issued.folder, base_url="https://forge.example")
    manager.start()
    manager.until("^READY=1$")
    manager.signal(signal.SIGTERM)
    _, said = manager.ended()
    assert "WARNING tocsin.serve base_url names forge.example, but the certificate is for" in said
