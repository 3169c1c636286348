"""Every listing is a table of 80 columns at a terminal, however long the values are."""

import time
from collections.abc import Iterator

import pytest

from hub.cli.console import output
from hub.cli.manual.commands import all_commands
from store import Connection, Store
from store.accounts import accounts, apps, tokens
from store.delivery import events, rejections, sources
from store.delivery.incoming import IncomingEvent
from store.delivery.outcomes.attempt_outcomes import record
from store.delivery.outcomes.outcome import Outcome
from store.hooks import hooks
from store.ordering.delivery_states import WAITING
from store.repositories import repositories

WIDTH = 80
LONG = "an-unusually-long-word-" * 4
URL = f"https://receiver.example/{LONG}?query={LONG}"
TABLES = [path.split()[1:] for path, _, _ in all_commands() if path.endswith(" list")]


def fill(db: Connection) -> None:
    """Create one object of each kind, with very long values."""
    user = accounts.create(db, f"ada-{LONG}x"[:90], name=LONG, email=f"{LONG[:60]}x@tower.example")
    accounts.create(db, "tower", kind="Organization", name=LONG)
    accounts.join(db, 2, user["id"], "admin")
    repo = repositories.create(db, user["id"], LONG, description=LONG)
    repositories.grant(db, repo["id"], user["id"], "admin")
    apps.create(db, user["id"], LONG, url=URL, description=LONG)
    tokens.create(db, user["id"], note=LONG, scopes=["repo", "admin:repo_hook", "user"],
                  expires_at=db.now + 10**15)  # fmt: skip
    sources.create(db, LONG[:60] + "x", "hush", owner_id=user["id"])
    hook = hooks.create(db, repo["id"], url=URL, events=["push", "issues", "pull_request"])
    named = IncomingEvent(repo["id"], LONG, repo["id"], "issues", b"{}", action="opened")
    events.accept_all(db, [named])
    db.execute("UPDATE delivery SET id = 1234567")
    record(db, [failure(hook["id"], repo["id"])])
    hooks.disable(db, hook["id"], f"every delivery failed: {LONG}")
    rejections.add(db, path=f"/events/{LONG}", reason=LONG, sender=LONG, event=LONG, guid=LONG,
                   size=25_000_000, address="2001:db8:1234:5678:9abc:def0:1234:5678")  # fmt: skip


def failure(hook_id: int, repo_id: int) -> Outcome:
    return Outcome(
        lease_id=0, delivery_id=1234567, hook_id=hook_id, event_id=1, repo_id=repo_id, number=10,
        redelivery=0, started_at=1_700_000_000_000_000, duration=99_999_999, status_code=None,
        error=f"connect: {LONG}", url=URL, address=None, timings="{}", request_head="",
        response_head=None, response_body=None, state=WAITING, due_at=0,
    )  # fmt: skip


def follow(db: Connection) -> None:
    """Create a WebSub subscription with long URLs."""
    db.execute(
        "INSERT INTO websub (key, repo_id, topic_key, topic, self_url, hub, callback,"
        " lease_ends_at, request_id, created_at, updated_at)"
        " VALUES ('key', 1, 'x', :url, :url, :url, :url, :now, 1, :now, :now)",
        url=URL,
        now=db.now,
    )


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, store: Store) -> Iterator[None]:
    """Fill the store. Make standard output a terminal of 80 columns in Kathmandu's time zone."""
    store.write_sync(fill)
    store.write_sync(follow)
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("words", TABLES, ids=" ".join)
def test_a_table_fits(words, run, terminal):
    shown = run(*words).stdout
    assert max((len(line) for line in shown.splitlines()), default=0) <= WIDTH, shown


def test_most_tables_have_rows(run, terminal):
    full = [words for words in TABLES if len(run(*words).stdout.splitlines()) > 1]
    assert len(full) >= 10


@pytest.mark.parametrize("option", [[], ["--utc"]], ids=["local", "utc"])
def test_times_of_a_table(run, terminal, option):
    shown = run("hook", "show", 1, *option).stdout
    assert ("+0545" in shown) is (not option)
    assert (" UTC" in shown) is bool(option)
