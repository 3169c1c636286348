"""`tocsin user openid` lists and removes the links of users to people at a provider."""

import json

import pytest

from hub.cli.console import removal
from store import Connection, Store
from store.accounts import accounts
from store.audit import audit_search
from store.openid import openid_links

pytestmark = pytest.mark.usefixtures("url")


@pytest.fixture(autouse=True)
def linked(run, store: Store) -> None:
    """Link ada (1) and bob (2) to people at a provider."""
    for login in ("ada", "bob"):
        run("user", "add", login)

    def link(db: Connection) -> None:
        for login in ("ada", "bob"):
            user = accounts.by_login(db, login)
            assert user is not None
            openid_links.add(db, user["id"], "https://login.tower.example", f"subject-of-{login}")

    store.write_sync(link)


def test_links_are_listed(run, listed):
    rows = listed("user", "openid", "list")
    assert [(row["login"], row["subject"]) for row in rows] == [
        ("ada", "subject-of-ada"),
        ("bob", "subject-of-bob"),
    ]
    assert {row["issuer"] for row in rows} == {"https://login.tower.example"}
    (row,) = json.loads(run("user", "openid", "list", "BOB", "--json").stdout)
    assert row["login"] == "bob"
    assert "user list" in run("user", "openid", "list", "eve", code=4).stderr
    assert "ada" in run("user", "openid").stdout


def test_links_are_removed_all_or_none(run, listed, store: Store):
    ids = [str(row["id"]) for row in listed("user", "openid", "list")]
    said = run("user", "openid", "remove", ids[0], "999", "--yes", code=4).stderr
    assert "nothing was removed" in said
    assert len(listed("user", "openid", "list")) == 2
    run("user", "openid", "remove", *ids, ids[0], "--yes")
    assert "no links" in run("user", "openid", "list").output
    (entry,) = store.read_sync(audit_search.page, limit=1)
    assert entry["action"] == "tocsin user openid remove"


def test_a_removal_asks_first(run, listed, monkeypatch):
    (link, _) = listed("user", "openid", "list")
    words = ("user", "openid", "remove", str(link["id"]))
    assert "add --yes" in run(*words, code=2).stderr
    monkeypatch.setattr(removal, "can_ask", lambda: True)
    assert "the link" in run(*words, stdin="n\n", code=1).stderr
    assert len(listed("user", "openid", "list")) == 2
