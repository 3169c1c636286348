"""Commands that list hooks, events and deliveries, redeliver and replay them, and run SQL."""

import csv
import io
import json
import re
import signal
import sqlite3
from contextlib import closing
from importlib import resources

import pytest
from engines import embedded

from hub.cli.console import output
from hub.cli.traffic import replay as replay_command
from store import Store
from store.database import migrations, shell
from store.delivery import hook_removal, rejections
from store.delivery.outcomes import attempt_outcomes
from store.delivery.outcomes.outcome import Outcome
from store.delivery.replays import replay_deliveries
from store.errors import Busy
from store.hook_state import hook_pauses
from store.hooks import hook_secrets, hooks
from store.ordering.delivery_states import WAITING

with closing(sqlite3.connect(":memory:")) as checked:
    options = "SELECT 1 FROM pragma_compile_options WHERE compile_options = 'ENABLE_DBSTAT_VTAB'"
    HAS_SIZES = checked.execute(options).fetchone() is not None

pytestmark = pytest.mark.usefixtures("url")


def failed(hook_id: int, delivery_id: int = 1) -> Outcome:
    """Return the outcome of a failed first attempt for the first event."""
    return Outcome(
        lease_id=0,
        delivery_id=delivery_id,
        hook_id=hook_id,
        event_id=1,
        repo_id=1,
        number=1,
        redelivery=0,
        started_at=1_700_000_000_000_000,
        duration=12_345,
        status_code=500,
        error=None,
        url="https://receiver.example/hook",
        address="192.0.2.1:443",
        timings='{"connect": 2000}',
        request_head="POST /hook HTTP/1.1\r\nX-GitHub-Event: push\r\n",
        response_head="Server: x\x1b[31m\r\n",
        response_body="no \x1b[2J good",
        instruction="retry-after=120",
        state=WAITING,
        due_at=0,
    )


def test_a_delivery_is_tried_when_its_hook_gets_something_again(run, listed, store: Store, hook_id):
    def next_times() -> set[str | None]:
        return {row["next_at"] for row in listed("delivery", "list", "--hook", hook_id)}

    def next_of_hook() -> str | None:
        found: dict[str, str | None] = json.loads(run("hook", "show", hook_id, "--json").stdout)
        return found["next_at"]

    assert all(next_times())
    for column in ("resting_until", "held_until"):
        later = "UPDATE hook SET resting_until = NULL, held_until = NULL"
        store.write_sync(lambda db, later=later: db.execute(later))
        until = f"UPDATE hook SET {column} = 4000000000000000"
        store.write_sync(lambda db, until=until: db.execute(until))
        assert next_times() == {"2096-10-02T07:06:40.000000Z"} == {next_of_hook()}
    store.write_sync(hook_pauses.pause, store.read_sync(hooks.by_id, hook_id))
    assert next_times() == {None} == {next_of_hook()}
    run("hook", "resume", hook_id)
    run("hook", "disable", hook_id)
    assert next_of_hook() is None


def test_hooks_with_their_health(run, listed, store: Store, hook_id):
    (row,) = listed("hook", "list")
    assert (row["repository"], row["state"], row["signed"]) == ("ada/bell", "active", True)
    assert row["last_response"] is None
    store.write_sync(lambda db: attempt_outcomes.record(db, [failed(hook_id)]))
    store.write_sync(lambda db: hooks.disable(db, hook_id, "it was tired"))
    (row,) = listed("hook", "list", "--repo", "ada/bell")
    assert (row["state"], row["last_response"]) == ("disabled: it was tired", 500)
    assert row["failing_since"] is not None
    assert "it was tired" in run("hook", "list").stdout
    assert "hush" not in run("hook", "list").output
    run("hook", "list", "--repo", "ada/none", code=4)


def test_hooks_enabled_and_disabled(run, listed, store: Store, hook_id):
    store.write_sync(lambda db: hooks.disable(db, hook_id, "it was tired"))
    run("hook", "enable", hook_id)
    assert listed("hook", "list")[0]["state"] == "active"
    run("hook", "disable", hook_id)
    assert listed("hook", "list")[0]["state"] == "inactive"
    assert "no hook 77" in run("hook", "enable", 77, code=4).stderr


def test_hook_options(run, listed, hook_id):
    run("hook", "edit", hook_id, "--timeout", 3, "--retries", "0,5,60")
    run("hook", "edit", hook_id, "--rate", 10)
    assert listed("hook", "list")[0]["options"] == {"retries": [0, 5, 60], "timeout": 3, "rate": 10}
    run("hook", "edit", hook_id, "--timeout", "default")
    assert "timeout" not in listed("hook", "list")[0]["options"]
    wrong = run("hook", "edit", hook_id, "--retries", "0,x", "--timeout", 0, code=2).stderr
    assert "retries, number 2" in wrong
    assert "timeout" in wrong
    assert wrong.count("\n") == 1
    run("hook", "edit", hook_id, code=2)


def test_events_are_listed(run, listed, hook_id):
    assert [row["guid"] for row in listed("event", "list")] == ["guid-x", "guid-1", "guid-0"]
    assert [row["event"] for row in listed("event", "list", "--unwanted")] == ["fork"]
    assert len(listed("event", "list", "--repo", "ada/bell", "--event", "push", "--limit", 1)) == 1
    assert "guid-0" in run("event", "list").stdout
    assert (
        run("event", "list", "--event", "star").stderr
        == "no such events: `tocsin refusal list` lists rejected events\n"
    )


def test_refusals_are_listed(run, listed, store: Store):
    assert (
        run("refusal", "list").stderr
        == "no event was rejected: `tocsin event list` lists the received events\n"
    )
    store.write_sync(
        lambda db: rejections.add(db, path="/events", reason="too large", size=30_000_000)
    )
    (row,) = listed("refusal", "list")
    assert (row["reason"], row["bytes"]) == ("too large", 30_000_000)
    assert json.loads(run("refusal", "show", row["id"], "--json").stdout) == row


def test_deliveries_are_listed(run, listed, store: Store, hook_id):
    store.write_sync(lambda db: attempt_outcomes.record(db, [failed(hook_id)]))
    rows = listed("delivery", "list", "--state", "waiting", "--hook", hook_id, "--since", "1h")
    assert [(row["id"], row["status"]) for row in rows] == [(2, None), (1, 500)]
    assert rows[1]["ms"] == 12.3
    assert listed("delivery", "list", "--event", "fork") == []
    assert listed("delivery", "list", "--since", "2100-01-01T00:00:00Z") == []
    assert len(listed("delivery", "list", "--repo", "ada/bell", "--limit", 1)) == 1
    run("delivery", "list", "--state", "lost", code=2)
    run("delivery", "list", "--since", "yesterday", code=2)


def test_a_delivery_is_shown_with_its_attempts(run, store: Store, hook_id):
    store.write_sync(lambda db: attempt_outcomes.record(db, [failed(hook_id)]))
    shown = run("delivery", "show", 1).stdout
    assert "X-GitHub-Event: push" in shown
    assert '"number": 0' in shown
    assert "status 500" in shown
    assert "the receiver asked: retry-after=120" in shown
    assert "\x1b" not in shown, "control characters of a receiver do not reach the terminal"
    found = json.loads(run("delivery", "show", 1, "--json").stdout)
    assert found["attempts"][0]["response_body"] == "no \x1b[2J good"
    assert found["attempts"][0]["instruction"] == "retry-after=120"
    assert json.loads(found["body"]) == {"number": 0}
    assert "no delivery 99" in run("delivery", "show", 99, code=4).stderr


def test_a_delivery_that_was_not_tried_has_its_body(run, hook_id):
    assert '"number": 1' in run("delivery", "show", 2).stdout


def test_a_delivery_is_redelivered(run, listed, hook_id):
    run("delivery", "redeliver", 1, 2)
    assert [row["guid"] for row in listed("delivery", "list")] == [
        "guid-1",
        "guid-0",
        "guid-1",
        "guid-0",
    ]
    run("delivery", "redeliver", 1, 99, code=4)
    assert "delivery 1 is named twice" in run("delivery", "redeliver", 1, 2, 1, code=2).stderr
    assert len(listed("delivery", "list")) == 4


@pytest.mark.parametrize(
    ("changes", "prospect"),
    [
        ((), "is sent again as delivery 3"),
        (("disable",), "is sent again as delivery 3"),
        (("pause",), "waits as delivery 3 until hook 1 is resumed"),
        (("order", "disable"), "waits as delivery 3 until hook 1 is enabled"),
    ],
    ids="-".join,
)
def test_a_redelivery_waits_while_its_hook_is_held(run, hook_id, changes, prospect):
    commands = {"order": ("edit", hook_id, "--ordering", "hook")}
    for change in changes:
        run("hook", *commands.get(change, (change, hook_id)))
    assert run("delivery", "redeliver", 1).stdout == f"delivery 1 {prospect}\n"


def test_a_deleted_hook_gets_nothing_again(run, store: Store, hook_id):
    store.write_sync(lambda db: hook_removal.delete(db, hooks.by_id(db, hook_id)))
    assert "was removed" in run("delivery", "redeliver", 1, code=4).stderr


def test_events_are_replayed(run, listed, hook_id):
    assert "2 deliveries" in run("replay", "--since", "1h", "--dry-run").stdout
    assert len(listed("delivery", "list")) == 2
    assert "2 deliveries are on their way" in run("replay", "--since", "1h").stdout
    assert len(listed("delivery", "list")) == 4
    assert "0 deliveries" in run("replay", "--since", "1h", "--failed").stdout
    assert "0 deliveries" in run("replay", "--since", "1h", "--until", "30m").stdout
    run("replay", code=2)


def test_a_replay_counts_only_events_after_the_given_one(run, hook_id):
    assert "1 delivery of" in run("replay", "--since", "1h", "--after", 1, "--dry-run").stdout


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("issues.", "'issues.' is no event"),
        (".opened", "is no event"),
        ("", "'' is no event"),
        ("ping", "pings are not replayed"),
    ],
)
def test_a_replay_of_a_wrong_event_is_refused(run, hook_id, event, said):
    assert said in run("replay", "--since", "1h", "--event", event, code=2).stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_replay_names_the_command_to_continue(
    run, listed, hook_id, monkeypatch, number
):
    monkeypatch.setattr(replay_command, "BATCH", 1)
    create = replay_deliveries.create

    def interrupted(db, *args):
        # The signal comes when the batch is committed, and before its end is known.
        db.after_commit(lambda: signal.raise_signal(number))
        return create(db, *args)

    monkeypatch.setattr(replay_deliveries, "create", interrupted)
    stopped = run("replay", "--since", "1h", code=1)
    assert "stopped after 1 of 2; the same with --after 1 goes on" in stopped.stderr
    # A signal during the last batch leaves nothing to do.
    assert "1 delivery is on its way" in run("replay", "--since", "1h", "--after", 1).stdout
    assert sorted(row["guid"] for row in listed("delivery", "list")) == 2 * ["guid-0"] + 2 * [
        "guid-1"
    ]


def test_a_replay_ignores_a_signal_that_its_parent_ignores(run, hook_id, monkeypatch):
    """A shell starts a command in the background so."""
    monkeypatch.setattr(replay_command, "BATCH", 1)
    create = replay_deliveries.create

    def interrupted(db, *args):
        signal.raise_signal(signal.SIGINT)
        return create(db, *args)

    monkeypatch.setattr(replay_deliveries, "create", interrupted)
    kept = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert "2 deliveries are on their way" in run("replay", "--since", "1h").stdout
    finally:
        signal.signal(signal.SIGINT, kept)


@pytest.mark.parametrize("done", [0, 1])
def test_a_replay_that_fails_names_the_command_to_continue(run, hook_id, monkeypatch, done):
    monkeypatch.setattr(replay_command, "BATCH", 1)
    create, batches = replay_deliveries.create, []

    def failing(*args):
        batches.append(args)
        if len(batches) > done:
            raise Busy("the database is locked")
        return create(*args)

    monkeypatch.setattr(replay_deliveries, "create", failing)
    stopped = run("replay", "--since", "1h", "--after", 1 - done, code=6)
    assert f"stopped after {done} of {1 + done}; the same with --after 1 goes on" in stopped.stderr


def test_status_counts_deliveries(run, listed, hook_id):
    found = listed("status")
    assert (found["deliveries_waiting"], found["hooks_active"]) == (2, 1)
    assert found["latest_event_at"] is not None
    assert "deliveries_waiting\t2\n" in run("status").stdout


@embedded("a database server has its own shell")
def test_sql_queries(run, listed, hook_id):
    assert listed("sql", "SELECT guid, text(body) AS body FROM event WHERE id = 1") == [
        {"guid": "guid-0", "body": '{"number": 0}'}
    ]
    assert "guid-0" in run("sql", "SELECT guid FROM event").stdout
    text = run("sql", "SELECT id, guid FROM event", "--csv", "--limit", 1)
    assert list(csv.reader(io.StringIO(text.stdout))) == [["id", "guid"], ["1", "guid-0"]]
    assert "only the first 1 rows" in text.stderr
    assert listed("sql", "SELECT 1 AS a, 2 AS a") == [{"a": 1, "a_2": 2}]


@embedded("a database server has its own shell")
@pytest.mark.skipif(not HAS_SIZES, reason="this SQLite was built without dbstat")
def test_sql_shows_the_sizes_of_tables(listed, hook_id):
    (row,) = listed("sql", "SELECT pgsize FROM dbstat WHERE aggregate = 1 AND name = 'hook'")
    assert row["pgsize"] > 0


@embedded("a database server has its own shell")
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM event",
        "UPDATE hook SET url = ''",
        "CREATE TABLE x (y)",
        "ATTACH DATABASE 'other.db' AS other",
        "PRAGMA query_only = OFF",
        "PRAGMA journal_mode = DELETE",
        "SELECT load_extension('x')",
        "VACUUM INTO 'copy.db'",
        "BEGIN IMMEDIATE",
    ],
)
def test_sql_only_reads(run, directory, hook_id, statement):
    files = {path.name for path in directory.iterdir()} | {"tocsin.db-shm", "tocsin.db-wal"}
    assert run("sql", statement, code=2).stderr.startswith("Error: ")
    assert {path.name for path in directory.iterdir()} <= files


@embedded("a database server has its own shell")
def test_sql_reports_a_wrong_statement(run, hook_id):
    assert "no such table: nowhere" in run("sql", "SELECT * FROM nowhere", code=2).stderr
    assert "fails" in run("sql", "SELECT 1; SELECT 2", code=2).stderr


@embedded("a database server has its own shell")
def test_csv_on_a_terminal_has_no_control_characters(run, hook_id, monkeypatch):
    words = ("sql", "SELECT char(27, 10) || 'x' AS a, 1.5 AS b", "--csv")
    assert run(*words).stdout == 'a,b\n"\x1b\nx",1.5\n'
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    assert run(*words).stdout == "a,b\n\\x1b\\nx,1.5\n"


@embedded("a database server has its own shell")
def test_sql_shows_no_secret(listed, hook_id):
    assert listed("sql", "SELECT secret, url FROM hook") == [
        {"secret": None, "url": "https://receiver.example/hook"}
    ]


@embedded("a database server has its own shell")
@pytest.mark.parametrize(
    "join",
    [
        "full join hook USING (secret)",
        "FULL OUTER JOIN hook USING/* */(secret)",
        "LEFT RIGHT JOIN hook USING (secret)",
        "NATURAL FULL JOIN (SELECT secret FROM hook) --'",
        "FULL JOIN (SELECT 1 AS \"'\", secret FROM hook) USING (secret) WHERE '' = ''",
    ],
)
def test_sql_merges_no_secret_into_the_column_of_a_join(run, hook_id, join):
    said = run("sql", f"SELECT hex(secret) FROM (SELECT 1 AS secret) {join}", code=2)
    assert "write the join with ON" in said.stderr


@embedded("a database server has its own shell")
def test_sql_joins_tables(listed, hook_id):
    joined = "SELECT name, 'full' AS kind FROM event JOIN (SELECT 1 AS id) USING (id) -- right"
    assert listed("sql", joined) == [{"name": "push", "kind": "full"}]
    outer = "SELECT h.secret AS secret FROM event e FULL JOIN hook h ON h.id = e.id"
    assert {row["secret"] for row in listed("sql", outer)} == {None}


def test_the_shell_hides_every_hash_of_a_secret():
    schema = resources.files(migrations).joinpath("0001_schema.sql").read_text()
    table, hashes = "", set()
    for line in schema.splitlines():
        if created := re.match(r"CREATE TABLE (\w+)", line):
            table = created[1]
        found = re.match(r"    (\w+) ", line)
        if found and (found[1].endswith("hash") or "which is not stored" in line):
            hashes.add((table, found[1]))
    assert ("token", "hash") in hashes
    assert hashes <= shell.UNSEEN, "add the column to UNSEEN of store/database/shell.py"


def former(store: Store, hook_id: int) -> str | None:
    row = store.read_sync(hooks.by_id, hook_id)
    found = store.read_sync(hook_secrets.previous_secret, row)
    return None if found is None else found[0]


def test_a_hooks_secret_is_exchanged(run, listed, store: Store, hook_id):
    said = run("hook", "rotate-secret", hook_id)
    new = said.stdout.strip()
    assert len(new) == 64
    assert "the old one also signs until 20" in said.stderr
    assert store.read_sync(hooks.secret_of, store.read_sync(hooks.by_id, hook_id)) == new
    assert former(store, hook_id) == "hush"
    (row,) = listed("hook", "list")
    assert row["two_secrets_until"].startswith("20")
    refused = run("hook", "rotate-secret", hook_id, code=5)
    assert "the former secret still signs until 20" in refused.stderr
    assert former(store, hook_id) == "hush"
    run("hook", "rotate-secret", hook_id, "--secret", new)
    # A return to the former secret leaves both.
    run("hook", "rotate-secret", hook_id, "--secret", "hush")
    assert former(store, hook_id) == new
    run("hook", "rotate-secret", hook_id, "--secret", new)
    said = run("hook", "rotate-secret", hook_id, "--secret", "-", "--overlap", "0s", stdin="a\n")
    assert said.stdout == ""
    assert store.read_sync(hooks.secret_of, store.read_sync(hooks.by_id, hook_id)) == "a"
    assert former(store, hook_id) is None
    run("hook", "rotate-secret", hook_id, "--secret", "b", "--overlap", "7d")
    assert former(store, hook_id) == "a"
    run("hook", "rotate-secret", hook_id, "--end")
    assert former(store, hook_id) is None
    assert (
        "7 days at most" in run("hook", "rotate-secret", hook_id, "--overlap", "8d", code=2).stderr
    )
    run("hook", "rotate-secret", hook_id, "--secret", "", code=2)
    run("hook", "rotate-secret", 99, code=4)
    log = listed("audit", "list", "--what", "tocsin hook rotate-secret")
    assert log[0]["fields"] == ["--end"]
    assert new not in str(log)


@embedded("a database server has its own shell")
def test_the_shell_lists_tables_and_shows_blobs_as_digits(run, listed):
    assert "hook\n" in run("sql", ".tables").stdout
    assert listed("sql", "SELECT x'00ff' AS packed") == [{"packed": "x'00ff'"}]
    shown = run("sql", ".schema hook").stdout
    assert shown.startswith("CREATE TABLE hook")
    assert "CREATE INDEX" in shown
    assert "CREATE TABLE event" not in shown


@embedded("a database server has its own shell")
def test_the_shell_describes_columns_indexes_and_references(run, listed):
    columns = {row["column"]: row for row in listed("sql", ".columns delivery")}
    assert columns["id"]["key"] is True
    assert columns["hook_id"]["required"] is True
    indexes = listed("sql", ".indexes hook")
    assert all(row["table"] == "hook" and row["columns"] for row in indexes)
    key = {"table": "signing_key", "columns": "hook_id", "to": "hook (id)"}
    assert listed("sql", ".references signing_key") == [key]
    assert key in listed("sql", ".references")
    wrong = run("sql", ".columns hok", code=2).stderr
    assert "no such table: hok: did you mean hook?" in wrong
