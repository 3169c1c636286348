"""Live output in the terminal: `tocsin top` and `tocsin delivery list --follow`."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli_process import prepare, subscribe_and_push, url_of
from statement_log import statements
from transactions import transaction
from waiting import PATIENCE, wait_until

from hub.cli.operate import top
from hub.cli.traffic import tail
from store import Store
from store.clock import HOUR
from store.delivery import attempt_feed, deliveries, leases
from store.delivery.attempt_filter import AttemptFilter
from store.delivery.outcomes import attempt_outcomes
from store.delivery.outcomes.outcome import Outcome
from store.hook_state import hook_pauses
from store.hooks import hooks
from store.ordering.delivery_states import DEAD, DELIVERED, WAITING

ALLOWED = {"TOCSIN_ALLOW_NETWORKS": "127.0.0.0/8"}


def tried(store: Store, hook_id: int, status: int | None, duration: int = 20_000) -> None:
    """Record an attempt of a waiting delivery. `duration` is in microseconds."""

    with transaction(store) as db:
        lease = leases.acquire(db, "tests", HOUR)
        (claimed, *_), _ = deliveries.claim(db, [hook_id], lease, 1)
        failed = status != 200
        outcome = Outcome(
            lease, claimed.id, hook_id, claimed.event_id, 1, 1, 0, db.now, duration, status,
            None if status else "connect: refused", "https://receiver.example/hook", None, "{}",
            "POST / HTTP/1.1", None, None, 0 if failed else 1, db.now + HOUR,
            accepted_at=db.now - duration,
        )  # fmt: skip
        attempt_outcomes.record(db, [outcome])


def test_top_prints_its_figures_once(run, listed, store: Store, hook_id: int):
    tried(store, hook_id, 200)
    tried(store, hook_id, None)
    found = listed("top", "--once")
    assert (found["waiting_later"], found["due"]) == (1, 0)
    hour = found["spans"][-1]
    assert (hour["span"], hour["events"], hour["delivered"], hour["failed"]) == ("hour", 3, 1, 1)
    assert 20 <= hour["p50_ms"] <= 40
    (slow,), (failing,) = found["slowest"], found["failing"]
    assert (slow["hook"], slow["attempts"], slow["failed"]) == (hook_id, 2, 1)
    assert (failing["hook"], failing["disabled"]) == (hook_id, None)
    shown = run("top").stdout
    assert "slowest endpoints" in shown
    assert "failing endpoints" in shown
    assert "50.0 %" in shown


def test_top_works_on_an_empty_store(run):
    run("user", "add", "ada")
    shown = run("top", "--once").stdout
    assert "0 workers" in shown
    assert "endpoints" not in shown


def test_more_deliveries_take_no_more_statements(
    store: Store, hook_id: int, monkeypatch: pytest.MonkeyPatch
):
    tried(store, hook_id, 200)
    asked = statements(monkeypatch)
    store.read_sync(top.snapshot)
    few = len(asked)
    for _ in range(2):
        store.write_sync(deliveries.redeliver, 1, hook_id, 1)
        tried(store, hook_id, None)
    asked.clear()
    store.read_sync(top.snapshot)
    assert len(asked) == few < 18


class Terminal:
    """A command in a pseudo-terminal."""

    def __init__(self, *args: str, term: str = "xterm") -> None:
        self.master, slave = pty.openpty()
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "hub.cli", *args], stdin=slave, stdout=slave, stderr=slave,
            env={**os.environ, "TERM": term, "COLUMNS": "100", "LINES": "40"},
        )  # fmt: skip
        os.close(slave)
        self.seen = ""

    def until(self, pattern: str) -> None:
        def found() -> bool:
            if select.select([self.master], [], [], 0)[0]:
                self.seen += os.read(self.master, 65536).decode(errors="replace")
            return bool(re.search(pattern, self.seen))

        wait_until(found, lambda: f"{pattern!r} in {self.seen}")

    def end(self) -> int:
        # The command cannot end before its output is read.
        self.until(r"\x1b\[\?1049l")
        return self.popen.wait(timeout=PATIENCE)


@pytest.fixture
def terminals() -> Iterator[Callable[..., Terminal]]:
    made: list[Terminal] = []

    def call(*args: str, **more: str) -> Terminal:
        made.append(Terminal(*args, **more))
        return made[-1]

    yield call
    for terminal in made:
        terminal.popen.kill()
        terminal.popen.wait()
        os.close(terminal.master)


@pytest.mark.parametrize("how", ["q", signal.SIGINT, signal.SIGTERM])
def test_top_runs_until_a_key_or_a_signal(run, terminals, how):
    run("user", "add", "ada")
    terminal = terminals("top", "--interval", "0.2")
    terminal.until("(?s)backlog.*q ends")
    if how == "q":
        os.write(terminal.master, b"q")
    else:
        terminal.popen.send_signal(how)
    assert terminal.end() == 0
    assert "Traceback" not in terminal.seen


def test_top_prints_once_on_a_terminal_that_cannot_redraw(run, terminals):
    run("user", "add", "ada")
    terminal = terminals("top", "--interval", "3600", term="dumb")
    terminal.until("backlog 0 due")
    assert terminal.popen.wait(timeout=PATIENCE) == 0


def test_following_real_deliveries(start, store: Store, directory: Path):
    token = prepare(store)
    receiver = start("listen", "--port", "0", "--json")
    callback = receiver.said(r"(http://127\.0\.0\.1:\d+/)", error=True)[1]
    hub = url_of(start("serve", "--port", "0", **ALLOWED))
    reported = start(
        "delivery", "list", "--follow", "--json", "--repo", "ada/bell", "--event", "push"
    )
    shown = start("delivery", "list", "--follow", "--state", "delivered")
    subscribe_and_push(hub, callback, token)
    found = json.loads(reported.said(r"^{.*}$")[0])
    assert (found["event"], found["state"], found["status"]) == ("push", "delivered", 200)
    assert (found["repository"], found["attempts"], found["problem"]) == ("ada/bell", 1, None)
    line = r"(ping|push) +200 .* hook 1  http"
    assert {shown.said(line)[1], shown.said(line)[1]} == {"ping", "push"}
    code, out, err = reported.end(signal.SIGINT)
    assert (code, out, err) == (0, "", "")
    assert shown.end(signal.SIGTERM)[0] == 0


def test_following_begins_with_past_attempts(start, store: Store, hook_id: int):
    tried(store, hook_id, 503)
    tried(store, hook_id, 200)
    reported = start("delivery", "list", "--follow", "--json", "--limit", "1")
    assert json.loads(reported.said("^{.*")[0])["status"] == 200
    store.write_sync(deliveries.redeliver, 1, hook_id, 1)
    tried(store, hook_id, 503)
    found = json.loads(reported.said("^{.*")[0])
    assert (found["status"], found["state"]) == (503, "waiting")
    assert found["next_at"] > found["at"]


def test_lines_say_how_a_delivery_went_on(store: Store, hook_id: int):
    ends = {"delivered later": DELIVERED, "dead": DEAD, "again in 1 h": WAITING}
    tried(store, hook_id, 503)
    for said, state in ends.items():
        store.write_sync(
            lambda db, state=state: db.execute("UPDATE delivery SET state = :s", s=state)
        )
        (row,) = store.read_sync(tail.latest_attempts, AttemptFilter(), 1, 1)
        line = tail.line_of(row, store.clock.now()).plain
        assert [one for one in ends if f"  {one}  " in line] == [said]
    store.write_sync(hook_pauses.pause, store.read_sync(hooks.by_id, hook_id))
    (row,) = store.read_sync(tail.latest_attempts, AttemptFilter(), 1, 1)
    assert "  waits: the hook is paused  " in tail.line_of(row, store.clock.now()).plain


def test_a_reader_that_goes_ends_it(store: Store, hook_id: int):
    tried(store, hook_id, 200)
    command = f"{sys.executable} -m hub.cli delivery list --follow --json"
    code = f"{command} | head -n 1; echo ${{PIPESTATUS[0]}}"
    with subprocess.Popen(["bash", "-c", code], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["status"] == 200
            store.write_sync(deliveries.redeliver, 1, hook_id, 1)
            tried(store, hook_id, 200)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (out, err) == ("0\n", "")


def test_past_attempts_are_searched_window_by_window(store: Store, hook_id: int, monkeypatch):
    tried(store, hook_id, 503)
    for _ in range(3):
        store.write_sync(deliveries.redeliver, 1, hook_id, 1)
        tried(store, hook_id, 200)
    monkeypatch.setattr(attempt_feed, "WINDOW", 1)
    wanted = AttemptFilter(events_of=[1])
    newest = store.read_sync(attempt_feed.latest)
    assert len(store.read_sync(tail.latest_attempts, wanted, 4, newest)) == 4


def test_filtered_deliveries_cannot_be_followed(run, store: Store, hook_id: int):
    said = run("delivery", "list", "--follow", "--state", "filtered", code=2).stderr
    assert "filtered deliveries have none" in said
