"""Deliveries with client certificates and private authorities, to a real server with TLS."""

import ssl
import tempfile
from pathlib import Path
from typing import Any

import pytest
from certificates import DAY, NOW, Authority
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)
from receivers import OK, Call, ok, serving
from waiting import until
from worker_harness import WorkerHarness

from store.clock import SECOND
from store.endpoint_access import client_tls
from worker.http import tls_contexts
from worker.http.tls_contexts import MOST_CONTEXTS, UnusableMaterial, context_of, material_of

CA = Authority()
# OpenSSL finds the authority by this name: `openssl x509 -hash`.
SUBJECT_HASH = "e9776dbc.0"


def tls_of(days: float = 100, **more: Any) -> dict[str, Any]:
    certificate, key = CA.issue(ends=NOW + days * DAY)
    return {"client_cert": certificate, "client_key": key, "ca": CA.pem} | more


async def test_the_certificate_of_a_hook_is_sent_on_request(
    harness: WorkerHarness, tmp_path: Path
) -> None:
    async with serving(ok, context=CA.server(tmp_path)) as receiver:
        url = f"https://localhost:{receiver.port}/in"
        with_one = harness.hook(url, options={"tls": tls_of()})
        without = harness.hook(url + "2", options={"tls": {"ca": CA.pem}, "retries": [0]})
        unknown = harness.hook(url + "3", options={"retries": [0]})
        await harness.work(real=True)
        await harness.event()
        await harness.over(delivered=1, dead=2)
        (attempt,) = await harness.recorded(with_one, 1)
        assert (attempt["status_code"], attempt["error"]) == (200, None)
        (attempt,) = await harness.recorded(without, 1)
        assert attempt["error"] is not None, (
            "the receiver rejects a request without a client certificate"
        )
        (attempt,) = await harness.recorded(unknown, 1)
        assert "certificate verify failed" in attempt["error"]
        assert len(receiver.heads) == 1


async def asks_late(call: Call) -> None:
    """Ask for the client certificate only after the request, as Apache does for one path."""
    await call.request()
    connection = call.writer.get_extra_info("ssl_object")
    connection.verify_client_post_handshake()
    await call.say(b"HTTP/1.1 103 Early Hints\r\n\r\n")  # the question goes with it
    await until(lambda: connection.getpeercert() is not None)
    await call.say(OK)


async def test_a_server_may_ask_for_the_certificate_after_the_request(
    harness: WorkerHarness, tmp_path: Path
) -> None:
    context = CA.server(tmp_path)
    context.post_handshake_auth = True
    async with serving(asks_late, context=context) as receiver:
        harness.hook(f"https://localhost:{receiver.port}/in", options={"tls": tls_of()})
        await harness.work(real=True)
        await harness.event()
        await harness.over(delivered=1)


@pytest.mark.parametrize("lacking", [False, True])
async def test_the_authorities_of_the_machine_are_trusted_without_reading_them_all(
    lacking: bool, harness: WorkerHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If its directory is `lacking` one of the authorities of its file, the file is read."""
    (tmp_path / SUBJECT_HASH).write_text(CA.pem)
    file = tmp_path / "ca.pem"
    file.write_text(CA.pem + (Authority("Others").pem if lacking else ""))
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    options = {"tls": tls_of(ca="")}
    context = context_of(material_of(options["tls"], verify=True))
    assert context.cert_store_stats()["x509"] == (2 if lacking else 0)
    async with serving(ok, context=CA.server(tmp_path)) as receiver:
        harness.hook(f"https://localhost:{receiver.port}/in", options=options)
        await harness.work(real=True)
        await harness.event()
        await harness.over(delivered=1)


async def test_connections_belong_to_their_material(harness: WorkerHarness, tmp_path: Path) -> None:
    async with serving(ok, context=CA.server(tmp_path)) as receiver:
        url = f"https://localhost:{receiver.port}/in"
        shared = tls_of()
        harness.hook(url, options={"tls": shared, "ordering": "hook"})
        await harness.work(real=True)
        for number in (1, 2):
            await harness.event()
            await harness.over(delivered=number)
        assert receiver.connections == 1, "the connection is kept"
        harness.hook(url + "2", options={"tls": tls_of()})
        await harness.event()
        await harness.over(delivered=4)
        assert receiver.connections == 2, "another certificate needs another connection"


async def test_the_host_name_may_be_left_unchecked(harness: WorkerHarness, tmp_path: Path) -> None:
    context = CA.server(tmp_path)
    async with serving(ok, host="127.0.0.2", context=context) as receiver:
        url = f"https://127.0.0.2:{receiver.port}/in"
        checked = harness.hook(url, options={"tls": tls_of(), "retries": [0]})
        harness.hook(url + "2", options={"tls": tls_of(verify_hostname=False, min_version="1.3")})
        await harness.work(real=True)
        await harness.event()
        await harness.over(delivered=1, dead=1)
        (attempt,) = await harness.recorded(checked, 1)
        assert "IP address mismatch" in attempt["error"]


async def test_a_newer_python_refuses_no_certificate_of_a_private_authority(
    harness: WorkerHarness, tmp_path: Path, strict_python: None
) -> None:
    async with serving(ok, context=CA.server(tmp_path)) as receiver:
        url = f"https://localhost:{receiver.port}/in"
        hook = harness.hook(url, options={"tls": tls_of(), "retries": [0]})
        await harness.work(real=True)
        await harness.event()
        (attempt,) = await harness.recorded(hook, 1)
        assert (attempt["status_code"], attempt["error"]) == (200, None)


async def test_an_expired_certificate_pauses_the_hook(harness: WorkerHarness) -> None:
    harness.clock.advance(NOW.timestamp() - harness.clock.now() / SECOND)
    hook_id = harness.hook(options={"tls": tls_of(days=2)})
    await harness.work()
    await harness.event()
    await harness.over(delivered=1)
    harness.clock.advance(3 * 86_400)
    await harness.event()
    await until(lambda: harness.hook_row(hook_id)["paused_at"] is not None)
    row = harness.hook_row(hook_id)
    assert row["pause_reason"] == "a certificate in the option tls has expired"
    assert row["failing_since"] is None, "the expired certificate is not a failure of the receiver"
    await harness.over(delivered=1, waiting=1)
    assert len(harness.attempts(hook_id)) == 1
    harness.edit(hook_id, options={"tls": tls_of(days=9)})
    await harness.over(delivered=2)
    row = harness.hook_row(hook_id)
    assert (row["paused_at"], row["pause_reason"]) == (None, None)


async def test_material_that_tls_rejects_pauses_the_hook(
    harness: WorkerHarness, monkeypatch: Any
) -> None:
    """An example is a key that a later version of OpenSSL rejects as too weak."""
    hook_id = harness.hook(options={"tls": tls_of()})

    def rejected(*_: Any) -> None:
        raise ssl.SSLError(1, "[SSL: EE_KEY_TOO_SMALL] ee key too small")

    with monkeypatch.context() as patched:
        patched.setattr(ssl.SSLContext, "load_cert_chain", rejected)
        await harness.work()
        await harness.event()
        await until(lambda: harness.hook_row(hook_id)["paused_at"] is not None)
    assert "cannot be used" in harness.hook_row(hook_id)["pause_reason"]
    assert harness.network.posts == []
    await harness.over(waiting=1)


def test_one_context_for_equal_material_and_no_end_of_them() -> None:
    tls = tls_of()
    one, other = material_of(tls, verify=True), material_of(dict(tls), verify=True)
    assert one == other
    assert context_of(one) is context_of(other)
    assert context_of(material_of(tls, verify=False)) is not context_of(one)
    assert "PRIVATE" not in repr(one)
    assert tls_contexts.context_of.cache_info().maxsize == MOST_CONTEXTS


def test_a_client_certificate_needs_no_room_in_a_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert isinstance(context_of(material_of(tls_of(), verify=True)), ssl.SSLContext)


@pytest.mark.parametrize(("between", "before"), [("", ""), ("\n    ", "    "), ("\n", "\ufeff")])
def test_a_key_that_can_be_saved_can_be_used(between: str, before: str) -> None:
    """OpenSSL reads no key on one line, none that is indented, and none after a byte order mark."""
    tls = tls_of()
    tls["client_key"] = before + between.join(tls["client_key"].splitlines())
    client_tls.check(tls, "https://tower.example/in", now=0)
    assert isinstance(context_of(material_of(tls, verify=True)), ssl.SSLContext)


def test_an_encrypted_key_is_refused_without_a_question() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    encrypted = key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"ding")
    ).decode()
    certificate = tls_of()["client_cert"]
    for given in ({"client_key": encrypted}, {"client_cert": certificate + encrypted}):
        with pytest.raises(UnusableMaterial):
            context_of(material_of(tls_of(**given), verify=True))
