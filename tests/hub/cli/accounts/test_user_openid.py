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


ISSUER = "https://login.tower.example"


def test_a_link_is_made_before_the_first_sign_in(run, listed, store: Store, monkeypatch):
    run("user", "add", "eve")
    said = run("user", "openid", "add", "eve", "248289761001", "--issuer", ISSUER).stdout
    assert said == "made link 3 of user eve\n"
    (_, _, row) = listed("user", "openid", "list")
    assert (row["login"], row["issuer"], row["subject"]) == ("eve", ISSUER, "248289761001")
    assert row["used_at"] is None
    (entry,) = store.read_sync(audit_search.page, limit=1)
    assert entry["action"] == "tocsin user openid add"
    monkeypatch.setenv("TOCSIN_OPENID_ISSUER", "https://another.example")
    monkeypatch.setenv("TOCSIN_OPENID_CLIENT_ID", "tocsin")
    run("user", "openid", "add", "eve", "248289761001")
    assert listed("user", "openid", "list")[-2]["issuer"] == "https://another.example"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("eve", "subject-of-ada", "--issuer", ISSUER), 5, "link 1 leads from this subject to ada"),
        (("bob", "7", "--issuer", ISSUER), 5, "link 2 leads from another subject to bob"),
        (("nobody", "7", "--issuer", ISSUER), 4, "user list"),
        (("tower", "7", "--issuer", ISSUER), 4, "user list"),
        (("eve", "a\nb", "--issuer", ISSUER), 2, "no control characters"),
        (("eve", "7 ", "--issuer", ISSUER), 2, "no spaces around it"),
        (("eve", "7", "--issuer", "http://login.tower.example"), 2, "https URL"),
        (("eve", "7", "--issuer", f"{ISSUER} "), 2, "https URL"),
        (("eve", "7", "--issuer", f" {ISSUER}"), 2, "https URL"),
        (("eve", "7"), 2, "say which provider"),
    ],
)
def test_a_link_that_cannot_be_made_is_refused(run, listed, words, code, said):
    run("user", "add", "eve")
    run("org", "add", "tower")
    assert said in run("user", "openid", "add", *words, code=code).stderr
    assert len(listed("user", "openid", "list")) == 2


def test_a_removal_asks_first(run, listed, monkeypatch):
    (link, _) = listed("user", "openid", "list")
    words = ("user", "openid", "remove", str(link["id"]))
    assert "add --yes" in run(*words, code=2).stderr
    monkeypatch.setattr(removal, "can_ask", lambda: True)
    assert "the link" in run(*words, stdin="n\n", code=1).stderr
    assert len(listed("user", "openid", "list")) == 2
