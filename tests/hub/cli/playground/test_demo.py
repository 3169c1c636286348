"""`tocsin demo`: a single run without a terminal, and the playground in a terminal."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import Mock
from uuid import UUID

import httpx
import pytest
from pty_process import END_OF_INPUT, INTERRUPT, PtyProcess
from rich.console import Console
from waiting import PATIENCE

from hub.cli.playground.demo_scene import DemoScene
from hub.cli.playground.received_request import from_headers
from store.clock import SECOND


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files. Its path is short, because sockets are created in it."""
    with TemporaryDirectory() as made:
        yield Path(made)


@pytest.mark.parametrize("words", [["demo", "--once"], ["demo"]])
def test_without_a_terminal_it_ends_when_all_is_delivered(start, temporary, words):
    code, out, err = start(*words, TMPDIR=str(temporary)).ended()
    assert code == 0, out + err
    assert err == ""
    for event in ("ping", "push", "issues", "release"):
        assert re.search(rf"^{event} +[0-9a-f-]{{36}} +200 .*✓ verified: sha256, sha1", out, re.M)
    assert list(temporary.iterdir()) == []


@pytest.fixture
def playground(temporary: Path) -> Iterator[PtyProcess]:
    """The demonstration in a terminal, which stays open."""
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = PtyProcess([sys.executable, "-m", "hub.cli", "demo"], env=environment)
    yield process
    process.close()


def dashboard_of(playground: PtyProcess) -> str:
    playground.until("^4 deliveries, all verified")
    return playground.until(r"^dashboard: (http\S+/ui/demo/\S{20,})$")[1]


@pytest.mark.parametrize(
    ("columns", "ending"),
    [(80, "  ✓ verified  again in 8 s"), (200, "  ✓ verified: sha256, sha1  again in 8 s")],
)
def test_a_row_fits_a_terminal_of_80_columns(columns, ending):
    signatures = {"x-hub-signature-256": True, "x-hub-signature": True}
    received = replace(from_headers([(b"X-GitHub-Event", b"release")], b"{}", None),
        guid=str(UUID(int=0)), checks=signatures)  # fmt: skip
    store = Mock(**{"clock.now.return_value": 0})
    scene = DemoScene(store, Console(width=columns, force_terminal=True))
    row = {"status_code": 503, "duration": 12_345, "state": "waiting", "due_at": 8 * SECOND}
    line = scene.line(received, row).plain
    assert line.endswith(ending)
    assert len(line) <= columns


@pytest.mark.parametrize("key", ["q", INTERRUPT, END_OF_INPUT])
def test_in_a_terminal_it_stays_open_until_a_key_ends_it(playground, temporary, key):
    dashboard_of(playground)
    playground.type(key)
    assert playground.ended() == 0, playground.seen
    assert list(temporary.iterdir()) == []


def test_keys_send_events_and_break_and_repair_the_receiver(playground):
    dashboard_of(playground)
    for key, event in (("1", "push"), ("2", "issues"), ("3", "release")):
        playground.type(key)
        playground.until(rf"^{event} +[0-9a-f-]{{36}} +200 .*✓ verified")
    playground.type("b")
    playground.until("^the receiver is broken: it answers 503")
    playground.type("1")
    guid = playground.until(r"^push +([0-9a-f-]{36}) +503 .*✓ verified.*  again ")[1]
    playground.type("b")
    playground.until("^the receiver works again")
    playground.until(rf"^push +{guid} +200 ")
    playground.type("q")
    assert playground.ended() == 0, playground.seen


def test_the_dashboards_address_has_a_session_of_an_administrator(playground):
    address = dashboard_of(playground)
    with httpx.Client(trust_env=False, follow_redirects=True, timeout=PATIENCE) as browser:
        page = browser.get(address)
        assert (page.url.path, page.status_code) == ("/ui", 200)
        assert browser.get(page.url.join("/ui/jobs")).url.path == "/ui/jobs"
    with httpx.Client(trust_env=False, timeout=PATIENCE) as stranger:
        answer = stranger.get(f"{address[:-1]}~")
        assert answer.status_code == 404
        assert "tocsin_ui=" not in answer.headers.get("set-cookie", "")
    playground.type("d")
    playground.until(f"^dashboard: {re.escape(address)}$")
    playground.type("q")
    assert playground.ended() == 0
    assert playground.seen.count(address) == 2, "no log line has the address"


def test_the_commands_for_another_terminal_work(playground):
    dashboard_of(playground)
    playground.type("c")
    token = playground.until(r"export TOKEN=(tsp_\w+)$")[1]
    listing = playground.until(r"^  (\S.* delivery list --data-dir \S+)$")[1]
    done = subprocess.run(["sh", "-c", listing], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 4
    playground.type("q")
    assert playground.ended() == 0
    assert playground.seen.count(token) == 1, "no log line has the token"
