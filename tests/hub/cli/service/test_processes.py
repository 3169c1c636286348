"""The commands that stay: real processes, real sockets, real signals."""

import json
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
from cli_process import SECRET, prepare, subscribe_and_push, url_of
from waiting import PATIENCE

from store import Store
from worker.delivery.sign import Signer


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files. Its path is short: sockets lie in it."""
    with TemporaryDirectory() as made:
        yield Path(made)


def test_demo_once(start, temporary):
    code, out, err = start("demo", "--once", TMPDIR=str(temporary)).ended()
    assert code == 0, out + err
    assert err == ""
    for event in ("ping", "push", "issues", "release"):
        assert re.search(rf"^{event} +[0-9a-f-]{{36}} +200 .*✓ verified: sha256, sha1", out, re.M)
    assert list(temporary.iterdir()) == []


def test_demo_goes_on_until_it_is_stopped(start, temporary):
    demo = start("demo", TMPDIR=str(temporary))
    token = demo.said("export TOKEN=(tsp_[0-9A-Za-z]+)")[1]
    topic = demo.said(r"-d '.*' (http://\S+/events/push)")[1]
    demo.said("Ctrl-C ends it")
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(headers=headers, trust_env=False, timeout=PATIENCE) as client:
        assert client.post(topic, json={"ref": "x"}).is_success
    demo.said("^push .*✓ verified")
    code, _, err = demo.end(signal.SIGINT)
    assert (code, err) == (0, "")
    assert list(temporary.iterdir()) == []


def test_serve(start, directory):
    daemon = start("serve", "--port", "0")
    url = url_of(daemon)
    answer = httpx.get(f"{url}/healthz", trust_env=False, timeout=PATIENCE)
    assert answer.status_code == 200
    assert answer.headers.get_list("server") == ["tocsin"]
    code, _, err = daemon.end()
    assert code == 0, err
    assert "ending" in err
    assert (directory / "tocsin.db").exists()


def test_hub_and_worker_apart(start, store: Store):
    token = prepare(store)
    receiver = start("listen", "--port", "0", "--secret", SECRET, "--json")
    callback = receiver.said(r"(http://127\.0\.0\.1:\d+/)", error=True)[1]
    allowed = {"TOCSIN_ALLOW_NETWORKS": "127.0.0.0/8"}
    worker = start("serve", "--only", "worker", **allowed)
    worker.said("at work: worker")
    hub = start("serve", "--only", "hub", "--port", "0", **allowed)
    subscribe_and_push(url_of(hub), callback, token)
    found = [json.loads(receiver.said(r"^{.*}$")[0]) for _ in range(2)]
    assert {each["event"] for each in found} == {"ping", "push"}
    assert all(each["verified"] for each in found)
    assert all(each["content_type"] == "application/x-www-form-urlencoded" for each in found)
    pushed = next(each for each in found if each["event"] == "push")
    assert json.loads(pushed["payload"]) == {"ref": "refs/heads/main"}
    assert [process.end()[0] for process in (hub, worker, receiver)] == [0, 0, 0]


def test_one_worker_only(start):
    start("serve", "--only", "worker").said("at work")
    code, _, err = start("serve", "--only", "worker").ended()
    assert code == 5
    assert "another worker is running" in err.splitlines()[-1]


def test_a_port_that_is_taken(start):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = start("serve", "--port", str(port)).ended()
    assert code == 5
    assert out == ""
    assert f"Error: cannot listen on 127.0.0.1 port {port}: Address already in use" in err


def test_a_second_signal_ends_at_once(start):
    daemon = start("serve", "--port", "0")
    url = httpx.URL(url_of(daemon))
    with socket.create_connection((url.host, url.port)) as slow:
        head = b"POST /events HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: push\r\n"
        slow.sendall(head + b"Content-Length: 9\r\n\r\n{")
        beside = httpx.get(url.join("/healthz"), trust_env=False, timeout=PATIENCE)
        assert beside.status_code == 200
        daemon.popen.send_signal(signal.SIGTERM)
        daemon.said("ending; a second signal", error=True)
        assert daemon.end()[0] == 128 + signal.SIGTERM


def test_listen(start):
    process = start("listen", "--port", "0", "--secret", SECRET, "--status", "503")
    url = process.said(r"(http://127\.0\.0\.1:\d+/)", error=True)[1]
    body = json.dumps({"zen": "\x1b[31mred", "n": 1}).encode()
    signed = {"X-GitHub-Event": "push", "X-GitHub-Delivery": "guid-1",
              "X-Hub-Signature-256": Signer(SECRET).hub(body)[1]}  # fmt: skip
    with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
        assert client.post(url, content=body, headers=signed).status_code == 503
        client.post(url, content=body + b" ", headers=signed)
        client.post(url, content=b"")
        assert client.post(url, content=b"x" * (26 * 1024 * 1024 + 1)).status_code == 413
    code, out, _ = process.end(signal.SIGINT)
    assert code == 0
    lines = [line for line in out.splitlines() if re.match(r"\S+  \S+  \S", line)]
    assert [re.search(r"✓ verified: sha256|✗ wrong|✗ not signed", line)[0] for line in lines] == [
        "✓ verified: sha256",
        "✗ wrong",
        "✗ not signed",
    ]
    assert "push  guid-1" in lines[0]
    assert "\x1b" not in out
