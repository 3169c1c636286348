"""`tocsin listen --server`: a listener that fetches deliveries from a hub in another process."""

import asyncio
import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from bearer import bearer
from cli_process import prepare, url_of
from installation import opened
from pty_process import INTERRUPT, PtyProcess
from waiting import PATIENCE, wait_until

from hub.cli.playground import remote_hub
from store.delivery import attempts
from store.errors import Invalid, Unavailable
from store.hooks import hook_queries


class Application(BaseHTTPRequestHandler):
    """A local application that keeps its requests."""

    status = 200

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        self.server.seen.append((dict(self.headers), self.rfile.read(size)))  # type: ignore[attr-defined]
        body = b"the application says so"
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def application() -> Iterator[Any]:
    with running_application() as server:
        yield server


@contextmanager
def running_application() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Application)
    server.seen, server.status = [], 200
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def terminal(*args: str) -> Iterator[PtyProcess]:
    """Run `tocsin listen` in a pseudo-terminal during the block."""
    process = PtyProcess([sys.executable, "-m", "hub.cli", "listen", *args])
    try:
        yield process
    finally:
        process.close()


@pytest.fixture
def token(directory: Path) -> str:
    with opened(directory) as store:
        return prepare(store)


def push(hub: str, token: str, ref: str = "main") -> None:
    with httpx.Client(base_url=hub, headers=bearer(token), timeout=PATIENCE) as client:
        client.post("/ada/bell/events/push", json={"ref": ref}).raise_for_status()


def live_hooks(directory: Path) -> list[str]:
    with opened(directory) as store:
        return [row["url"] for row in store.read_sync(hook_queries.every)]


def test_deliveries_reach_an_application_behind_a_wall(start, directory, token, application):
    hub = url_of(start("serve", "--port", "0"))
    forward = f"http://127.0.0.1:{application.server_port}/in"
    with terminal(
        "--server", hub, "--token", token, "--subscribe", "ada/bell", "--forward", forward
    ) as listener:
        listener.until("hook 1 of ada/bell at .* is fetched from here")
        listener.until("ping .*✓ verified: sha256, sha1, standard  → 200")
        application.status = 201
        push(hub, token)
        listener.until("push .*✓ verified: sha256, sha1, standard  → 201")
        headers, body = application.seen[-1]
        assert json.loads(body) == {"ref": "main"}
        assert headers["X-GitHub-Event"] == "push"
        attempt = wait_until(lambda: recorded(directory))
        assert (attempt["status_code"], attempt["response_body"]) == (
            201,
            "the application says so",
        )
        assert redelivered(hub, token, attempt["id"]) == 202
        listener.until("push .*→ 201")
        assert live_hooks(directory)[0].startswith("pull:listen-")
        listener.type(INTERRUPT)
        assert listener.ended() == 0
    assert live_hooks(directory) == []


def recorded(directory: Path, event: str = "push") -> dict[str, Any] | None:
    """Return the recorded attempt of the event, or None."""
    with opened(directory) as store:
        rows = store.read_sync(attempts.page, 1, limit=5, event=event)
        return store.read_sync(attempts.get, 1, rows[0]["id"]) if rows else None


def redelivered(hub: str, token: str, attempt_id: int) -> int:
    url = f"{hub}/repos/ada/bell/hooks/1/deliveries/{attempt_id}/attempts"
    return httpx.post(url, headers=bearer(token), timeout=PATIENCE).status_code


def make_hook(hub: str, token: str) -> None:
    body = {"config": {"url": "pull:ci", "content_type": "json"}}
    made = httpx.post(
        f"{hub}/repos/ada/bell/hooks", json=body, headers=bearer(token), timeout=PATIENCE
    )
    assert made.status_code == 201


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_listener_ends_after_its_reader_and_answers_its_last_delivery(
    start, directory, token, form
):
    hub = url_of(start("serve", "--port", "0"))
    make_hook(hub, token)
    named = ("--server", hub, "--token", token, "--hook", "ada/bell/1")
    listener = start("listen", *named, *form)
    listener.popen.stdout.close()
    code, _, err = listener.ended()
    assert (code, "Traceback" in err) == (0, False)
    assert recorded(directory, "ping")["status_code"] == 200


def test_a_listener_goes_on_after_an_outage_of_the_hub(start, directory, token, application):
    port = str(free_port())
    daemon = start("serve", "--port", port)
    hub = url_of(daemon)
    make_hook(hub, token)
    forward = str(application.server_port)
    with terminal(
        "--server", hub, "--token", token, "--hook", "ada/bell/1", "--forward", forward
    ) as listener:
        listener.until("ping .*→ 200")
        assert daemon.end()[0] == 0
        listener.until("the hub cannot be reached: .*; trying again")
        url_of(start("serve", "--port", port))
        push(hub, token)
        listener.until("the hub is back")
        listener.until("push .*→ 200")
    assert live_hooks(directory) == ["pull:ci"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port: int = bound.getsockname()[1]
        return port


def test_an_application_that_is_not_there_is_a_failed_attempt(start, directory, token):
    hub = url_of(start("serve", "--port", "0"))
    with terminal(
        "--server", hub, "--token", token, "--subscribe", "ada/bell",
        "--forward", f"http://127.0.0.1:{free_port()}",
    ) as listener:  # fmt: skip
        listener.until("hook 1 of ada/bell")
        push(hub, token)
        listener.until("push .*→ 502 .*did not answer")
        attempt = wait_until(lambda: recorded(directory))
        assert attempt["error"].startswith("receiver: http://127.0.0.1:")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--hook", "ada/bell/1"], 2, "--hook needs --server"),
        (["--server", "hub.example", "--token", "t"], 2, "name a hook with --hook"),
        (["--server", "hub.example", "--hook", "a/b/1"], 2, "--server needs a token"),
        (
            ["--server", "hub.example", "--port", "9000", "--subscribe", "a/b"],
            2,
            "--server and --port",
        ),
        (["--server", "http://127.0.0.1:9", "--token", "t", "--hook", "1"], 2, "is no hook"),
        (["--server", "http://-\N{LATIN SMALL LETTER U WITH DIAERESIS}.-"], 2, "is no URL"),
        (["--forward", "http://127.0.0.1:9/\x07"], 2, "is no URL"),
        (["--server", "hub.example", "--token", "t\u20ac", "--hook", "a/b/1"], 2, "are ASCII"),
        (["--server", "127.0.0.1:9", "--token", "t\n", "--hook", "a/b/1"], 2, "without line ends"),
    ],
)
def test_wrong_options(start, args, code, said):
    found, _, err = start("listen", *args).ended()
    assert found == code
    assert said in err


def test_a_wrong_token_or_hook_is_reported(start, directory, token):
    hub = url_of(start("serve", "--port", "0"))
    wrong = ("listen", "--server", hub, "--token", "nonsense", "--hook", "ada/bell/1")
    code, _, err = start(*wrong).ended()
    assert code == 1
    assert "the hub answered 401" in err
    missing = ("listen", "--server", hub, "--token", token, "--hook", "ada/bell/7")
    assert start(*missing).ended()[0] == 4


def test_the_message_of_an_error_says_why_the_hub_refused():
    errors = [{"message": "only pull hooks are fetched from"}, {"code": "missing"}]
    answer = {"message": "Validation Failed", "errors": errors}

    async def fetch() -> None:
        hub = httpx.MockTransport(lambda _: httpx.Response(422, json=answer))
        async with httpx.AsyncClient(base_url="http://hub.example", transport=hub) as client:
            await remote_hub.RemoteHub(client, "/repos/a/b/hooks/1", "ci").fetch(1, 60)

    with pytest.raises(Invalid, match="422: Validation Failed: only pull hooks are fetched from"):
        asyncio.run(fetch())


def test_an_answer_of_another_server_is_tried_again():
    async def fetch() -> None:
        page = httpx.MockTransport(lambda _: httpx.Response(200, html="<p>Back soon</p>"))
        async with httpx.AsyncClient(base_url="http://hub.example", transport=page) as client:
            await remote_hub.RemoteHub(client, "/repos/a/b/hooks/1", "ci").fetch(1, 60)

    with pytest.raises(Unavailable, match=r"^hub\.example answered 200 without JSON$"):
        asyncio.run(fetch())


def test_an_error_without_a_text_is_reported_by_its_name():
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("")

    async def fetch() -> None:
        hub = httpx.MockTransport(refuse)
        async with httpx.AsyncClient(base_url="http://hub.example", transport=hub) as client:
            await remote_hub.call(client, "GET", "/")

    with pytest.raises(Unavailable, match=r"cannot be reached: ConnectTimeout$"):
        asyncio.run(fetch())
