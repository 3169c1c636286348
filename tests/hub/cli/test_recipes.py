"""The manual's recipes for FastAPI, Jenkins and Forgejo. The tests imitate the last two."""

import hashlib
import hmac
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from bearer import bearer
from cli_process import SECRET, prepare, url_of
from manual import MANUAL, block
from waiting import PATIENCE, wait_until

from store import Store
from store.delivery import delivery_queries

ALLOWED = {"TOCSIN_ALLOW_NETWORKS": "127.0.0.0/8"}
PUSH = {
    "ref": "refs/heads/main",
    "repository": {"full_name": "ada/bell", "url": "https://forge.example/ada/bell"},
    "pusher": {"name": "ada"},
}


class Stand(BaseHTTPRequestHandler):
    """A receiver that keeps each request and responds 200."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def stand() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Stand) as server:
        server.got = []
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def post(url: str, **given: Any) -> httpx.Response:
    return httpx.post(url, trust_env=False, timeout=PATIENCE, **given)


def subscribe(hub: str, token: str, callback: str, secret: str = SECRET) -> None:
    """Subscribe to pushes as the recipes do, with `.json` at the end of the topic."""
    form = {
        "hub.mode": "subscribe",
        "hub.topic": f"{hub}/ada/bell/events/push.json",
        "hub.callback": callback,
        "hub.secret": secret,
    }
    answer = post(f"{hub}/hub", data=form, headers=bearer(token))
    assert answer.status_code == 204, answer.text


def push(hub: str, token: str) -> None:
    headers = bearer(token)
    url = f"{hub}/ada/bell/events/push"
    assert post(url, json=PUSH, headers=headers).is_success


@pytest.fixture
def fastapi(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Run the receiver of the FastAPI recipe. Yields its URL and its log file."""
    page = MANUAL / "how-to" / "fastapi.md"
    (tmp_path / "receiver.py").write_text(block(page, "python", "receiver"))
    log = tmp_path / "receiver.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "receiver:app", "--port", "0"],
            cwd=tmp_path, env={"WEBHOOK_SECRET": SECRET}, stdout=stream, stderr=stream,
        )  # fmt: skip
    try:
        running = r"Uvicorn running on (http://127\.0\.0\.1:\d+) "
        yield wait_until(lambda: re.search(running, log.read_text()))[1], log
        process.terminate()
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()


def test_the_fastapi_recipe_verifies_deliveries(
    start, store: Store, fastapi: tuple[str, Path], run
):
    receiver, log = fastapi
    token = prepare(store)
    hub = url_of(start("serve", "--port", "0", **ALLOWED))
    subscribe(hub, token, f"{receiver}/hook")
    subscribe(hub, token, f"{receiver}/hook?other", "another secret")
    push(hub, token)

    def states() -> dict[tuple[int, str], Any]:
        rows = store.read_sync(delivery_queries.page, limit=50)
        return {(row["hook_id"], row["event"]): row for row in reversed(rows)}

    wait_until(
        lambda: len(found := states()) == 4 and all(row["attempts"] for row in found.values())
    )
    found = states()
    assert [found[1, name]["status_code"] for name in ("ping", "push")] == [202, 202]
    assert [found[2, name]["status_code"] for name in ("ping", "push")] == [401, 401]
    assert "wrong signature" in run("delivery", "show", found[2, "push"]["id"]).stdout
    wait_until(lambda: "push refs/heads/main" in log.read_text())
    run("delivery", "redeliver", found[1, "push"]["id"])
    wait_until(lambda: states()[1, "push"]["redelivery"] and states()[1, "push"]["attempts"])
    assert log.read_text().count("push refs/heads/main") == 1
    unsigned = post(f"{receiver}/hook", json={})
    assert unsigned.status_code == 422


def test_jenkins(start, store: Store, stand: ThreadingHTTPServer):
    """Repeat the checks of two Jenkins plugins: path, headers, and the HMAC of the body."""
    token = prepare(store)
    hub = url_of(start("serve", "--port", "0", **ALLOWED))
    jenkins = f"http://127.0.0.1:{stand.server_port}"
    generic, plugin = "/generic-webhook-trigger/invoke?token=JOB", "/github-webhook/"
    for path in (generic, plugin):
        subscribe(hub, token, jenkins + path)
    push(hub, token)
    got = stand.got
    wait_until(lambda: len(got) == 4)
    pushed = {path: (lines, body) for path, lines, body in got if lines["X-GitHub-Event"] == "push"}
    assert set(pushed) == {generic, plugin}
    for lines, body in pushed.values():
        # The plugins compare the whole Content-Type, and the part of a signature after the `=`.
        assert lines["Content-Type"] == "application/json"
        for name, algorithm in (("X-Hub-Signature-256", "sha256"), ("X-Hub-Signature", "sha1")):
            made = hmac.new(SECRET.encode(), body, algorithm).hexdigest()
            assert lines[name].split("=") == [algorithm, made]
        payload = json.loads(body)
        assert payload["ref"] == "refs/heads/main"
        assert payload["repository"]["url"] == "https://forge.example/ada/bell"
        assert payload["pusher"]["name"] == "ada"


def forgejo(secret: str, event: str, payload: dict[str, Any]) -> tuple[dict[str, str], bytes]:
    """Return headers and body as Forgejo sends them, also with the names of Gitea and others."""
    body = json.dumps(payload, indent=2).encode()
    bare = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    sha1 = hmac.new(secret.encode(), body, hashlib.sha1).hexdigest()
    lines = {"Content-Type": "application/json", "User-Agent": "Go-http-client/1.1"}
    for prefix in ("Forgejo", "Gitea", "Gogs", "GitHub"):
        lines[f"X-{prefix}-Delivery"] = "f6266f16-1bf3-46a5-9ea4-602e06ead473"
        lines[f"X-{prefix}-Event"] = event
        lines[f"X-{prefix}-Event-Type"] = event
    for prefix in ("Forgejo", "Gitea", "Gogs"):
        lines[f"X-{prefix}-Signature"] = bare
    return {
        **lines, "X-Hub-Signature": f"sha1={sha1}", "X-Hub-Signature-256": f"sha256={bare}"
    }, body  # fmt: skip


FORGEJO = Path(__file__).parent / "forgejo_push.json"


def test_the_forgejo_recipe_accepts_events(
    start, store: Store, run, listed, stand: ThreadingHTTPServer
):
    token = prepare(store)
    secret = run("source", "add", "forgejo").stdout.strip()
    hub = url_of(start("serve", "--port", "0", **ALLOWED))
    subscribe(hub, token, f"http://127.0.0.1:{stand.server_port}/hook")
    lines, body = forgejo(secret, "push", json.loads(FORGEJO.read_text()))
    url = f"{hub}/events?source=forgejo"
    answer = post(url, content=body, headers=lines)
    assert (answer.status_code, answer.json()["deliveries"]) == (202, 1)
    assert answer.json()["id"] == lines["X-Forgejo-Delivery"]
    got = stand.got
    wait_until(lambda: len(got) == 2)
    (sent,) = [body for _, lines, body in got if lines["X-Service-Event"] == "push"]
    assert sent == body
    again = post(url, content=body, headers=lines)
    assert again.json() == answer.json()
    forged = post(url, content=body + b" ", headers=lines)
    assert forged.status_code == 401
    # An event creates a repository that does not exist yet.
    elsewhere = json.loads(FORGEJO.read_text())
    elsewhere["repository"]["full_name"] = "ada/belfry"
    elsewhere["repository"]["name"] = "belfry"
    lines, body = forgejo(secret, "push", elsewhere)
    lines["X-Forgejo-Delivery"] = "another"
    assert post(url, content=body, headers=lines).status_code == 202
    wait_until(lambda: "ada/belfry" in [row["repository"] for row in listed("repo", "list")])
