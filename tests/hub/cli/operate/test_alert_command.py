"""`tocsin alert`: problems on the command line."""

from store import Connection, Store
from store.accounts import accounts
from store.alerts import alerts
from store.alerts.alerts import NewAlert
from store.alerts.rules import BACKLOG_HIGH, KEY_BLOCKED
from store.hooks import hooks
from store.repositories import repositories


def blocked(db: Connection) -> int:
    owner = accounts.create(db, "ada")
    repo = repositories.create(db, owner["id"], "engine")
    hook = hooks.create(db, repo["id"], url="https://ci.example/in", events=["push"])
    alerts.open_all(
        db,
        [
            NewAlert(KEY_BLOCKED, hook["id"], subject="refs/main"),
            NewAlert(BACKLOG_HIGH, alerts.INSTALLATION),
        ],
    )
    return int(hook["id"])


def test_there_are_no_problems(run):
    assert "no problems" in run("alert", "list").output
    assert "alert list" in run("alert", "show", "ci.example/503", code=4).output


def test_a_problem_is_shown_acknowledged_muted_and_opened_again(listed, run, store: Store):
    hook_id = store.write_sync(blocked)
    name = f"ci.example/{KEY_BLOCKED}"

    def state() -> str:
        return str({row["problem"]: row["state"] for row in listed("alert", "list")}[name])

    rows = listed("alert", "list")
    assert [row["problem"] for row in rows] == [name, f"installation/{BACKLOG_HIGH}"]
    shown = listed("alert", "show", name)
    assert (shown["hook_ids"], shown["latest"]) == ([hook_id], "blocked keys")
    run("alert", "acknowledge", name)
    assert state() == "acknowledged"
    assert listed("alert", "show", name)["acknowledged_by"]
    run("alert", "mute", name, "--for", "2h")
    assert state() == "muted"
    assert listed("alert", "show", name)["muted_until"]
    run("alert", "reopen", name)
    assert state() == "open"
    run("alert", "mute", f"installation/{BACKLOG_HIGH}")
    assert listed("alert", "list")[1]["state"] == "muted"
    assert "is no duration" in run("alert", "mute", name, "--for", "long", code=2).output
