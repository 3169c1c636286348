"""`tocsin migrate`, also while real hubs and workers run."""

import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from bearer import bearer
from postgres_databases import database
from rich.console import Console
from rich.progress import MofNCompleteColumn
from waiting import PATIENCE, wait_until

from hub.cli.console import output, progress
from hub.cli.operate import migrate as command
from store import Connection, Store
from store.accounts import accounts, tokens
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from store.hooks import hooks
from store.pg_migration import mover
from store.repositories import repositories


@pytest.fixture
def url() -> str:
    """The source of a migration is always the embedded engine."""
    return "sqlite"


@pytest.fixture
def target() -> Iterator[str]:
    with database() as url:
        yield url


def name_of(url: str) -> str:
    with psycopg.connect(url) as raw:
        return raw.info.dbname


def test_a_copy_is_followed_by_the_switch(run, store: Store, hook_id, target):
    first = run("migrate", "--to", target)
    assert re.search(r"^event\s+3\s+[0-9a-f]{32}$", first.stdout, re.M)
    assert "the same with --switch finishes the move" in first.stdout
    assert run("status").stdout
    store.write_sync(events.accept_all, [IncomingEvent(1, "guid-later", 1, "push", b"{}")])
    second = run("migrate", "--to", target, "--switch")
    assert re.search(r"^event\s+4\s+[0-9a-f]{32}$", second.stdout, re.M)
    assert "secret.key" in second.stdout
    refused = run("status", code=1)
    assert refused.stderr.startswith("Error: this database was closed by `tocsin migrate`")
    assert name_of(target) in refused.stderr
    found = json.loads(run("event", "list", "--store", target, "--json").stdout)
    assert [row["guid"] for row in found] == ["guid-later", "guid-x", "guid-1", "guid-0"]
    (entry,) = json.loads(run("audit", "list", "--store", target, "--json").stdout)
    assert (entry["what"], entry["fields"]) == ("tocsin migrate", ["--to", "--switch"])
    run("audit", "verify", "--store", target)
    assert name_of(target) in run("migrate", "--to", target, "--switch", code=1).stderr


def test_a_refusal_is_one_line(run, store: Store, target):
    for arguments, code, said in (
        (["--to", "sqlite:///x"], 1, "has to be on PostgreSQL"),
        (["--to", "postgresql://nobody:hush@127.0.0.1:1/x"], 6, "cannot be reached"),
        (["--to", target, "--store", target], 1, "on PostgreSQL already"),
        (["--to", target, "--data-dir", "elsewhere"], 4, "no database at elsewhere"),
    ):
        refused = run("migrate", *arguments, code=code).stderr
        assert said in refused
        assert refused.count("\n") == 1
        assert "hush" not in refused
    run("migrate", code=2)


def test_a_migration_is_given_up(run, store: Store, hook_id, target):
    run("migrate", "--to", target)
    assert "given up" in run("migrate", "--to", target, "--abandon").stdout
    assert "another database" in run("migrate", "--to", target, code=1).stderr
    assert run("status").stdout


def test_an_interrupted_migration_can_be_continued(run, store: Store, hook_id, target, monkeypatch):
    def interrupted(self: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(mover.Mover, "compare", interrupted)
        assert run("migrate", "--to", target, code=1).stderr == (
            "stopped; the same command goes on\n"
        )
    run("migrate", "--to", target)


def test_progress_bars_of_a_migration(monkeypatch):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100)
    monkeypatch.setattr(output, "console", lambda *, error: console)
    with progress.bars(MofNCompleteColumn()) as made:
        bars = command.ProgressBars(made)
        for done in (1000, 2000, 2345):
            bars.on_progress("copying", "event", done, 2345)
        bars.on_progress("comparing", "event", 5, 10)
    text = shown.getvalue()
    assert re.search(r"copying event .*2345/2345", text)
    assert re.search(r"comparing event .* 5/10", text)


# Migrations while hubs and workers run.


class Receivers:
    """Receivers at several paths, which count the accepted requests for each delivery id.

    Receivers whose paths are not in `up` respond 503.
    """

    def __init__(self) -> None:
        self.got: Counter[tuple[str, str]] = Counter()
        self._noting = threading.Lock()
        self.up = {"/early"}
        receivers = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                status = 503
                if self.path in receivers.up:
                    receivers.note(self.path, self.headers["X-GitHub-Delivery"])
                    status = 200
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def note(self, path: str, guid: str) -> None:
        with self._noting:
            self.got[path, guid] += 1

    def at(self, path: str) -> dict[str, int]:
        with self._noting:
            return {guid: count for (where, guid), count in self.got.items() if where == path}

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receivers() -> Iterator[Receivers]:
    made = Receivers()
    yield made
    made.close()


@pytest.fixture
def start(directory: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts a `tocsin` process and writes its output to a file."""
    running: list[subprocess.Popen[str]] = []
    given = {
        "TOCSIN_ALLOW_NETWORKS": "127.0.0.0/8",
        "TOCSIN_RETRIES": ",".join(["0", *["2"] * 14, *["6"] * 15]),
        "TOCSIN_JITTER": "0",
        "TOCSIN_BREAKER": "0",
    }

    def call(*arguments: str) -> subprocess.Popen[str]:
        log = (directory / f"log-{len(running)}").open("w+")
        process = subprocess.Popen(
            [sys.executable, "-m", "hub.cli", *arguments],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **given},
            text=True,
        )
        process.log = log  # type: ignore[attr-defined]
        running.append(process)
        return process

    yield call
    for process in running:
        process.kill()
        process.wait()
        process.log.close()  # type: ignore[attr-defined]


def printed(process: Any) -> str:
    process.log.flush()
    return Path(process.log.name).read_text()


def said(process: Any, pattern: str) -> str:
    """Wait until a pattern matches the output. Return the last group, or else the whole match."""

    def found() -> Any:
        running = process.poll() is None
        seen = re.search(pattern, printed(process), re.M)
        assert running or seen, printed(process)
        return seen

    seen = wait_until(found, lambda: f"{pattern!r} in {printed(process)}")
    return seen[seen.re.groups]


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0, printed(process)


def prepare(db: Connection, receivers: str) -> str:
    """Create `ada/bell` with hooks for the receivers `/early` and `/late`. Return a token."""
    user = accounts.create(db, "ada")
    repo = repositories.create(db, user["id"], "bell")
    for name in ("early", "late"):
        hooks.create(db, repo["id"], url=f"{receivers}/{name}", events=["push"], secret="hush")
    return tokens.create(db, user["id"], scopes=["repo"])[0]


class Pushes:
    """A client that pushes continuously, and keeps which pushes the hub accepted and rejected."""

    def __init__(self, hub: str, token: str) -> None:
        self.accepted: list[str] = []
        self.refused: list[httpx.Response] = []
        self._client = httpx.Client(
            base_url=hub,
            headers=bearer(token),
            trust_env=False,
            timeout=PATIENCE,
        )
        self._ended = threading.Event()

    def push(self, number: int) -> None:
        guid = f"push-{number}"
        answer = self._client.post(
            "/ada/bell/events/push",
            json={"ref": f"refs/heads/{number}"},
            headers={"X-GitHub-Delivery": guid},
            timeout=PATIENCE,
        )
        if answer.status_code == 202:
            self.accepted.append(guid)
        else:
            self.refused.append(answer)

    def _run(self) -> None:
        for number in itertools.count():
            if self._ended.wait(0.02):
                return
            self.push(number)

    @contextmanager
    def going_on(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
            self._client.close()


def test_a_migration_under_load_loses_nothing(store: Store, target, start, receivers):
    token = store.write_sync(prepare, receivers.url)
    worker = start("serve", "--only", "worker")
    said(worker, "at work")
    hub = start("serve", "--only", "hub", "--port", "0")
    pushes = Pushes(said(hub, r"at work: (\S+)$"), token)
    with pushes.going_on():
        wait_until(lambda: len(receivers.at("/early")) > 20, lambda: printed(worker))
        migrate = start("migrate", "--to", target, "--switch")
        said(migrate, "stop the worker")
        before = len(pushes.accepted)
        wait_until(lambda: len(pushes.accepted) > before + 5, lambda: printed(hub))
        assert migrate.poll() is None
        end(worker)
        assert migrate.wait(PATIENCE) == 0, printed(migrate)
        wait_until(lambda: len(pushes.refused) > 2, lambda: printed(hub))
    assert {answer.status_code for answer in pushes.refused} == {503}
    assert all(int(answer.headers["retry-after"]) > 0 for answer in pushes.refused)
    end(hub)
    assert f"moved to postgresql://postgres@/{name_of(target)}" in printed(migrate)
    receivers.up.add("/late")
    daemon = start("serve", "--store", target, "--port", "0")
    with Pushes(said(daemon, r"at work: (\S+)$"), token).going_on():
        wait_until(
            lambda: receivers.at("/late").keys() >= set(pushes.accepted),
            lambda: (len(receivers.at("/late")), len(pushes.accepted), printed(daemon)),
        )
        wait_until(
            lambda: receivers.at("/early").keys() >= set(pushes.accepted),
            lambda: (len(receivers.at("/early")), len(pushes.accepted), printed(daemon)),
        )
    # The worker ended gracefully, without deliveries in flight that must be repeated.
    for path in ("/early", "/late"):
        got = receivers.at(path)
        assert {guid: got[guid] for guid in pushes.accepted} == dict.fromkeys(pushes.accepted, 1)
    end(daemon)
    refused = start("serve", "--only", "worker")
    assert refused.wait(PATIENCE) == 1
    assert "closed by `tocsin migrate`" in printed(refused)


def test_a_switch_that_is_killed_is_finished_by_the_next(store: Store, target, start, receivers):
    token = store.write_sync(prepare, receivers.url)
    hub = start("serve", "--only", "hub", "--port", "0")
    pushes = Pushes(said(hub, r"at work: (\S+)$"), token)
    with pushes.going_on():
        wait_until(lambda: len(pushes.accepted) > 20, lambda: printed(hub))
        # Kill each run after a longer time, until one finishes first.
        for wait in itertools.count(1):
            migrate = start("migrate", "--to", target, "--switch")
            try:
                code = migrate.wait(0.5 + wait * 0.5)
            except subprocess.TimeoutExpired:
                migrate.kill()
                migrate.wait()
                continue
            # A busy database server takes a while to notice that the previous run was killed.
            if "another `tocsin migrate` is at work" in printed(migrate):
                continue
            # The previous run may have been killed after it had finished the switch.
            assert code == 0 or "this database was closed" in printed(migrate), printed(migrate)
            break
    end(hub)
    receivers.up.add("/late")
    daemon = start("serve", "--store", target, "--port", "0")
    said(daemon, "at work")
    wanted = dict.fromkeys(pushes.accepted, 1)
    wait_until(lambda: receivers.at("/late") == wanted, lambda: printed(daemon))
    wait_until(lambda: receivers.at("/early") == wanted, lambda: printed(daemon))
    end(daemon)
