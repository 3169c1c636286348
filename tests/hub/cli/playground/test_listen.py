"""`tocsin listen`: a line for each delivery with its answer, and forwarding to an application."""

import asyncio
import errno
import json
import re
import shlex
import signal
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from unittest.mock import Mock

import httpx
import pytest
from cli_process import SECRET, Process
from ports import free_port
from waiting import PATIENCE

from hub.cli.console import output, streams
from hub.cli.playground import forwarder
from hub.cli.playground.forwarder import target_of
from hub.cli.playground.listen_output import shown_or_ended, verdict
from hub.cli.playground.received_request import from_headers
from worker.signing.sign import Signer

BODY = json.dumps({"zen": "\x1b[31mred", "n": 1}).encode()


def signed(body: bytes = BODY, guid: str = "guid-1") -> dict[str, str]:
    return {
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": guid,
        "X-Hub-Signature-256": Signer(SECRET).hub(body)[1],
    }


def url_of(process: Process) -> str:
    return process.said(r"(http://127\.0\.0\.1:\d+/)", error=True)[1]


def post(url: str, body: bytes = BODY, **headers: str) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
        return client.post(url, content=body, headers={**signed(), **headers})


class Application:
    """A local application that keeps its requests and responds with a status, at first 418."""

    def __init__(self) -> None:
        self.status = 418
        self.requests: list[tuple[str, list[tuple[str, str]], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append((self.path, self.headers.items(), body))
                said = b"the bell is broken\nand more"
                self.send_response(outer.status)
                self.send_header("X-Own", "kept")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = Thread(target=self.server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


@pytest.fixture
def application() -> Iterator[Application]:
    made = Application()
    yield made
    made.close()


def test_each_delivery_is_a_line_with_its_signatures_and_its_answer(start):
    process = start("listen", "--port", "0", "--secret", SECRET, "--status", "503")
    url = url_of(process)
    with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
        assert client.post(url, content=BODY, headers=signed()).status_code == 503
        client.post(url, content=BODY + b" ", headers=signed())
        client.post(url, content=b"")
        assert client.post(url, content=b"x" * (26 * 1024 * 1024 + 1)).status_code == 413
    code, out, _ = process.end(signal.SIGINT)
    assert code == 0
    lines = out.splitlines()
    assert [re.search(r"✓ verified: sha256|✗ wrong|✗ not signed", line)[0] for line in lines] == [
        "✓ verified: sha256",
        "✗ wrong",
        "✗ not signed",
    ]
    assert all("  → 503 in " in line for line in lines)
    assert "push  guid-1" in lines[0]
    assert "\x1b" not in out


def test_a_signature_by_a_key_is_not_checked_with_the_secret():
    by_key = (b"Webhook-Signature", b"v1a,AAAA")
    (by_secret,) = [one for one in signed().items() if one[0].lower() == "x-hub-signature-256"]
    both = [by_key, (by_secret[0].encode(), by_secret[1].encode())]
    assert verdict(from_headers([by_key], BODY, SECRET)).plain.startswith("not checked: only a key")
    assert verdict(from_headers(both, BODY, SECRET)).plain == "✓ verified: sha256"
    for text in (b"", b"AAAA", b"v1,AAAA v1a,AAAA"):
        given = [(by_key[0], text)]
        assert verdict(from_headers(given, BODY, SECRET)).plain == "✗ wrong: webhook-signature"


def test_bodies_are_printed_on_request_without_control_characters(start):
    process = start("listen", "--port", "0", "--body")
    post(url_of(process))
    process.said("^push  guid-1  not checked.*→ 200")
    process.said(r'^  "zen": "\\u001b\[31mred"')
    assert process.end()[0] == 0


def test_json_has_the_answer(start):
    process = start("listen", "--port", "0", "--secret", SECRET, "--json", "--status", "204")
    assert post(f"{url_of(process)}hook?x=1").status_code == 204
    shown = json.loads(process.said("^{.*}$")[0])
    assert (shown["status"], shown["problem"], shown["answer"]) == (204, None, None)
    assert (shown["path"], shown["method"], shown["verified"]) == ("/hook", "POST", True)
    assert json.loads(shown["payload"]) == json.loads(BODY)


def test_a_sender_that_leaves_before_the_answer_is_shown(start):
    process = start("listen", "--port", "0", "--delay", "600")
    url = httpx.URL(url_of(process))
    with socket.create_connection((url.host, url.port)) as sender:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: push\r\nContent-Length: 2\r\n\r\n"
        sender.sendall(head + b"{}")
    process.said("^push .*→ no answer: the sender left after")
    assert process.end()[0] == 0


def test_forwarding_changes_neither_request_nor_answer(start, application):
    process = start("listen", "--port", "0", "--secret", SECRET, "--forward", application.url)
    answer = post(f"{url_of(process)}hooks/a%2Fb?x=1&x=2", **{"X-Extra": "a, b"})
    assert (answer.status_code, answer.text) == (418, "the bell is broken\nand more")
    assert answer.headers["x-own"] == "kept"
    ((path, headers, body),) = application.requests
    assert (path, body) == ("/hooks/a%2Fb?x=1&x=2", BODY)
    got = {name.lower(): value for name, value in headers}
    sent = {name.lower(): value for name, value in signed().items()} | {"x-extra": "a, b"}
    assert got.items() >= sent.items()
    assert got["host"] == application.url.removeprefix("http://")
    line = process.said("^push  guid-1  ✓ verified: sha256")
    assert re.search(r"→ 418 in .*: the bell is broken  POST /hooks/a%2Fb", line.string)
    assert process.end()[0] == 0


def test_the_body_of_an_applications_answer_is_printed_on_request(start, application):
    process = start("listen", "--port", "0", "--body", "--forward", application.url)
    post(url_of(process))
    process.said("^the bell is broken$")
    process.said("^and more$")


def test_an_unreachable_application_is_answered_with_502(start):
    port = free_port()
    process = start("listen", "--port", "0", "--forward", str(port))
    answer = post(url_of(process))
    assert answer.status_code == 502
    assert f"http://127.0.0.1:{port}/ did not answer" in answer.text
    process.said(rf"^push .*→ 502 in .*: http://127.0.0.1:{port}/ did not answer")


@pytest.mark.parametrize("status", [600, 999])
def test_a_status_that_http_does_not_have_is_answered_with_502(start, application, status):
    application.status = status
    process = start("listen", "--port", "0", "--forward", application.url)
    assert post(url_of(process)).status_code == 502
    process.said(rf"^push .*→ 502 in .* did not answer: {status} is no status of HTTP")


async def test_an_answer_without_an_end_is_answered_with_502(monkeypatch):
    async def endless(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(forwarder, "PATIENCE", 0.01)
    monkeypatch.setattr(httpx.AsyncClient, "send", endless)
    async with forwarder.forwarding("http://127.0.0.1:3000", 0) as answer:
        found = await asyncio.wait_for(answer(from_headers([], b"{}", None)), PATIENCE)
    assert (found.status, found.problem) == (
        502,
        "http://127.0.0.1:3000/ did not answer: TimeoutError",
    )


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_receiver_ends_after_its_reader(start, form):
    process = start("listen", "--port", "0", *form)
    url = url_of(process)
    process.popen.stdout.close()
    assert post(url).status_code == 200
    code, _, err = process.ended()
    assert (code, err) == (0, "")


def test_a_full_output_ends_a_receiver(monkeypatch, capsys):
    ends = []

    def show(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(streams, "discard_output", lambda: None)
    shown_or_ended(show, lambda: ends.append(1))(Mock())
    assert (ends, capsys.readouterr().err) == (
        [1],
        "cannot write the output: No space left on device\n",
    )
    monkeypatch.setattr(output, "print_note", show)
    shown_or_ended(show, lambda: ends.append(2))(Mock())
    assert ends == [1, 2]


@pytest.mark.parametrize(
    ("url", "target", "expected"),
    [
        ("http://h:3000", "/a%20b?x=1", "http://h:3000/a%20b?x=1"),
        ("http://h:3000/", "/", "http://h:3000/"),
        ("http://h:3000/hook", "/a", "http://h:3000/hook"),
        ("http://h:3000/hook", "/a?x=1", "http://h:3000/hook?x=1"),
        ("http://h:3000/hook?own=1", "/a?x=1", "http://h:3000/hook?own=1"),
    ],
)
def test_a_forward_url_without_a_path_keeps_the_deliverys(url, target, expected):
    assert str(target_of(url, target)) == expected


def test_a_server_from_the_environment_excludes_a_port(run, monkeypatch):
    monkeypatch.setenv("TOCSIN_LISTEN_SERVER", "http://hub.example")
    said = run("listen", "--subscribe", "ada/bell", "--port", "9123", code=2).stderr
    assert "--server and --port exclude each other" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--forward ftp://x", "is no URL"),
        ("--forward http://x:99999", "is no URL"),
        ("--forward 3000 --status 500", "exclude each other"),
        ("--token t", "--token needs --server"),
        ("--secret ''", "--secret is empty"),
        ("--event push", "--subscribe"),
        ("--port 80000", "65535"),
        ("--port -1", "65535"),
        ("--subscribe ada", "is not OWNER/NAME"),
    ],
)
def test_wrong_options(run, words, said):
    assert said in run("listen", *shlex.split(words), code=2).stderr
