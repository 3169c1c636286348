"""`tocsin audit`, and the entries that changing commands add to the audit log."""

import ast
import getpass
import json
import os
import socket
from pathlib import Path

import pytest
from audit_forgery import forge
from transactions import transaction

import hub.cli
from store import Store
from store.audit import audit_log, audit_search
from store.audit.audit_log import Actor, AuditEntry

ME = f"{getpass.getuser()}@{socket.gethostname()}"


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)


def test_commands_are_recorded(run, listed, directory):
    run("user", "add", "ada", "--email", "ada@tower.example")
    run("repo", "add", "ada/bell", "--private")
    run("source", "add", "forge", "--secret", "hush-hush")
    token = run("token", "add", "ada", "--note", "ci").stdout.strip()
    run("token", "remove", "--yes", "1")
    run("user", "list")
    run("audit", "list")
    rows = listed("audit", "list")
    assert [(row["what"], row["on"], row["fields"]) for row in rows] == [
        ("tocsin token remove", "1", ["--yes"]),
        ("tocsin token add", "ada", ["--note"]),
        ("tocsin source add", "forge", ["--secret"]),
        ("tocsin repo add", "ada/bell", ["--private"]),
        ("tocsin user add", "ada", ["--email"]),
    ]
    assert {(row["who"], row["by"], row["outcome"]) for row in rows} == {(ME, "command", "done")}
    said = json.dumps(rows)
    for secret in ("hush-hush", token, "tower.example"):
        assert secret not in said


def test_urls_are_recorded_without_their_paths_and_queries(run, listed):
    run("user", "add", "ada")
    run("repo", "add", "ada/bell")
    app = ("--owner", "ada", "--url", "https://mill.example/", "--kind", "integration")
    run("app", "add", "Mill", *app)
    url = "https://receiver.example/T00/hush-path?token=hush-query"
    run("hook", "add", "ada/bell", url)
    run("subscribe", "ada/bell", url)
    run("app", "hook", "Mill", url)
    rows = listed("audit", "list", "--limit", "3")
    assert [(row["what"], row["on"]) for row in rows] == [
        ("tocsin app hook", "Mill https://receiver.example/..."),
        ("tocsin subscribe", "ada/bell https://receiver.example/..."),
        ("tocsin hook add", "ada/bell https://receiver.example/..."),
    ]


def test_failed_and_reading_commands_are_not_audited(run, listed):
    run("user", "add", "ada")
    run("user", "add", "ada", code=5)
    run("token", "remove", "--yes", "7", code=4)
    run("status")
    run("sql", "SELECT 1")
    assert len(listed("audit", "list")) == 1


def test_a_command_of_many_transactions_is_one_entry(run, listed, store: Store, hook_id):
    run("replay", "--since", "1h")
    (row,) = listed("audit", "list", "--what", "tocsin replay")
    assert row["fields"] == ["--since"]


def test_a_document_is_loaded(run, listed, tmp_path):
    document = tmp_path / "state.yaml"
    document.write_text("users:\n  - {login: ada}\n")
    run("load", document)
    (row,) = listed("audit", "list")
    assert (row["what"], row["on"]) == ("tocsin load", str(document))


@pytest.mark.skipif(os.geteuid() != 0, reason="SUDO_USER counts only for root")
@pytest.mark.parametrize(("user", "shown"), [("ada", "ada"), ("ad\udcff", r"ad\udcff")])
def test_the_user_behind_sudo_is_audited(run, listed, monkeypatch, user, shown):
    monkeypatch.setenv("SUDO_USER", user)
    run("user", "add", "bob")
    (row,) = listed("audit", "list")
    assert row["who"] == f"{shown}@{socket.gethostname()}"
    assert row["more"] == {"as": "root"}


def written(store: Store, many: int) -> None:
    with transaction(store) as db:
        for number in range(many):
            audit_log.add(db, AuditEntry(Actor("ada", "token", 1, 2), "x", f"/x/{number}", "204"))


def test_the_audit_log_in_pages(run, listed, store: Store):
    written(store, 5)
    assert [row["id"] for row in listed("audit", "list", "--limit", 2)] == [5, 4]
    assert json.loads(run("audit", "show", 4, "--json").stdout)["on"] == "/x/3"
    shown = run("audit", "list", "--limit", 2)
    assert "token 2" in shown.stdout
    assert "--before 4" in shown.stderr
    assert [row["id"] for row in listed("audit", "list", "--before", 3)] == [2, 1]
    assert listed("audit", "list", "--who", "bob") == []
    assert len(listed("audit", "list", "--who", "ada", "--since", "1h", "--what", "x")) == 5
    assert (
        run("audit", "list", "--who", "bob").stderr
        == "no such entries: `tocsin audit list` lists all there are\n"
    )


def test_the_audit_log_is_searched_for_a_target(run, listed, store: Store, monkeypatch):
    monkeypatch.setattr(audit_search, "MOST_SEARCHED", 2)
    for login in ("ada", "bob", "cy"):
        run("user", "add", login)
    assert [row["on"] for row in listed("audit", "list", "--on", "BO")] == ["bob"]
    done = run("audit", "list", "--on", "ada")
    assert "for older entries: --before 2" in done.stderr
    assert [row["on"] for row in listed("audit", "list", "--on", "ada", "--before", "2")] == ["ada"]


def test_changes_of_a_hook_by_commands_are_found_like_those_of_the_api(run, listed):
    run("user", "add", "ada")
    run("repo", "add", "ada/bell")
    for name in ("a", "b"):
        run("hook", "add", "ada/bell", f"https://receiver.example/{name}")
    for done in (("pause", 1), ("pause", 2), ("edit", 1, "--event", "push")):
        run("hook", *done)
    found = listed("audit", "list", "--on", "/hooks/1/")
    assert [row["what"] for row in found] == ["tocsin hook edit", "tocsin hook pause"]


def test_the_audit_log_is_verified(run, store: Store):
    assert run("audit", "verify").stdout == "0 entries from 1 on, up to 0:\n"
    written(store, 3)
    said = run("audit", "verify").stdout
    assert said.startswith("3 entries from 1 on, up to 3:")
    head = said.split()[-1]
    run("audit", "verify", "--expect", head)
    written(store, 1)
    assert run("audit", "verify", "--expect", head).stdout.startswith("4 entries")
    assert "is not there" in run("audit", "verify", "--expect", "9:ab", code=1).stdout
    run("audit", "verify", "--expect", "x", code=2)
    run("audit", "list", "--expect", head, code=2)
    store.write_sync(forge, "UPDATE audit SET actor = 'eve' WHERE id = 2")
    assert "entry 2 is not what was written" in run("audit", "verify", code=1).stdout
    found = json.loads(run("audit", "verify", "--json", code=1).stdout)
    assert len(found["problems"]) == 1
    assert found["entries"] == 4
    store.write_sync(forge, "UPDATE audit SET actor = CAST(x'ff' AS TEXT) WHERE id = 2")
    assert "entry 2 is not what was written" in run("audit", "verify", code=1).stdout
    assert len(run("audit", "list").stdout.splitlines()) == 4


def test_there_is_one_way_to_a_store():
    """A module that opened the store by itself could change it without an audit entry."""
    folder = Path(hub.cli.__file__).parent
    openers = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "open_store":
                openers.add(path.name)
    assert openers == {"options.py"}
