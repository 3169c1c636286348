"""Options of `tocsin hook` for the access to an endpoint."""

import json
from pathlib import Path

import pytest
from certificates import Authority

from store import Store
from store.hooks import hook_queries, hooks, option_secrets

URL = "https://198.41.0.4/hook"


def options_of(store: Store, hook_id: int) -> dict:
    return store.read_sync(option_secrets.revealed, store.read_sync(hooks.by_id, hook_id))


def test_headers_with_a_value_from_a_file(run, store: Store, hook_id, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("Bearer hunter2\n")
    lines = ["--header", f"Authorization: @{file}", "--header", "X-Env: live"]
    run("hook", "add", "ada/bell", URL, *lines)
    headers = {"Authorization": "Bearer hunter2", "X-Env": "live"}
    assert options_of(store, 2) == {"headers": headers}
    shown = json.loads(run("hook", "show", 2, "--json").stdout)
    assert shown["options"]["headers"] == headers | {"Authorization": "********"}
    assert "hunter2" not in run("hook", "edit", 2, "--rate", 3).output
    assert options_of(store, 2)["headers"] == headers
    run("hook", "edit", 2, "--header", "default")
    assert options_of(store, 2) == {"rate": 3.0}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["no colon hunter2"], "Name: value"),
        (["Host: hunter2"], "not allowed"),
        (["X-Key: hunter2\x01"], "printable"),
        (["X-Key: @/nowhere/hunter"], "cannot be read"),
        (["X-Key: @/dev/null"], "/dev/null is empty"),
        (["X-A: hunter2", "X-A: 2"], "twice"),
    ],
)
def test_wrong_headers(run, hook_id, lines, said) -> None:
    given = [part for line in lines for part in ("--header", line)]
    failed = run("hook", "edit", hook_id, *given, code=2)
    assert said in failed.stderr
    assert "hunter2" not in failed.stderr


def test_a_client_certificate_from_files(run, store: Store, hook_id, tmp_path: Path) -> None:
    authority = Authority()
    certificate, key = authority.issue()
    for name, text in (("cert", certificate), ("key", key), ("ca", authority.pem)):
        (tmp_path / name).write_text(text)
    files = ["--client-cert", tmp_path / "cert", "--client-key", tmp_path / "key"]
    run("hook", "add", "ada/bell", URL, *files, "--ca", tmp_path / "ca", "--min-tls", "1.3")
    shown = json.loads(run("hook", "show", 2, "--json").stdout)
    assert shown["options"]["tls"]["client_key"] == "********"
    assert shown["certificate_ends_at"] is not None
    run("hook", "edit", 2, "--ca", "default", "--verify-hostname", "no")
    tls = options_of(store, 2)["tls"]
    assert tls == {
        "client_cert": certificate.strip(),
        "client_key": key.strip(),
        "min_version": "1.3",
        "verify_hostname": False,
    }
    said = run("hook", "edit", 2, "--client-cert", tmp_path / "key", code=2).stderr
    assert "client_cert is not a list" in said
    assert "PRIVATE" not in said
    assert "is empty" in run("hook", "edit", 2, "--ca", "/dev/null", code=2).stderr
    everything = ["--client-cert", "--client-key", "--verify-hostname", "--min-tls"]
    run("hook", "edit", 2, *(part for name in everything for part in (name, "default")))
    assert options_of(store, 2) == {}


def test_client_credentials(run, store: Store, hook_id, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2\n")
    words = ["--oauth2-token-url", "https://198.41.0.4/token", "--oauth2-client-id", "tocsin"]
    run("hook", "edit", hook_id, *words, "--oauth2-client-secret", secret)
    changed = run("hook", "edit", hook_id, "--oauth2-scope", "deliver")
    assert "hunter2" not in changed.output + run("hook", "show", hook_id).output
    assert options_of(store, hook_id)["oauth2"] == {
        "token_url": "https://198.41.0.4/token",
        "client_id": "tocsin",
        "client_secret": "hunter2",
        "scope": "deliver",
    }
    inner = ["--oauth2-token-url", "http://10.0.0.1/token"]
    said = run("hook", "edit", hook_id, *inner, code=2).stderr
    assert "oauth2: token_url: " in said
    credentials = ["--oauth2-client-id", "tocsin", "--oauth2-client-secret", secret]
    said = run("hook", "add", "ada/bell", URL, *inner, *credentials, code=2).stderr
    assert "oauth2: token_url: " in said
    assert len(store.read_sync(hook_queries.every)) == 1
    said = run("hook", "edit", hook_id, "--oauth2-method", "private_key_jwt", code=2).stderr
    assert "private_key_jwt requires private_key" in said
    assert "hunter2" not in said
