"""The `show`, `edit` and `remove` commands, and the confirmation that a removal requires."""

import json

import pytest

from hub.cli.console import removal
from store import Store
from store.registry import account_removal

pytestmark = pytest.mark.usefixtures("url")

STATE = """
users: [{login: ada, name: Ada}, {login: bob}, {login: eve, site_admin: true}]
organizations: [{login: tower, members: {bob: admin}}]
repositories: [{name: ada/bell}, {name: tower/clock}]
hooks: [{repository: ada/bell, url: "https://receiver.example/"}]
tokens: [{user: ada, note: ci, scopes: [repo]}]
"""


@pytest.fixture(autouse=True)
def loaded(run, store: Store) -> None:
    run("load", "-", stdin=STATE)


@pytest.fixture
def asked(monkeypatch):
    """Make removals ask for a confirmation, as they do at a terminal."""
    monkeypatch.setattr(removal, "can_ask", lambda: True)


def shown(run, *words: str):
    return json.loads(run(*words, "--json").stdout)


def test_a_user_is_removed_with_repositories_hooks_and_tokens(run, listed):
    run("emit", "push", "ada/bell", "--example")
    run("user", "remove", "ada", "--yes")
    assert [row["login"] for row in listed("user", "list")] == ["bob", "eve"]
    assert [row["repository"] for row in listed("repo", "list")] == ["tower/clock"]
    assert listed("hook", "list") == listed("token", "list") == []
    (waited,) = listed("delivery", "list")
    assert (waited["state"], waited["problem"]) == ("dead", "the repository was removed")
    assert listed("audit", "list")[0]["what"] == "tocsin user remove"


def test_a_removal_is_described_and_confirmed_first(run, listed, asked):
    said = run("user", "remove", "ada", stdin="n\n", code=1)
    assert "the user ada, with 1 repository, 1 hook and 1 token." in said.stderr
    assert "Remove it? [y/N]" in said.stderr
    assert len(listed("user", "list")) == 3
    assert run("user", "remove", "ada", stdin="y\n").stdout == "removed user ada\n"
    assert len(listed("user", "list")) == 2


def test_the_deliveries_that_wait_for_a_hook_are_named_before_its_removal(run):
    run("emit", "push", "ada/bell", "--example")
    said = run("hook", "remove", 1, code=2).stderr
    assert "hook 1 to https://receiver.example/, with 1 waiting delivery." in said


@pytest.mark.parametrize(
    "words",
    [
        ("user", "remove", "ada"),
        ("org", "remove", "tower"),
        ("repo", "remove", "ada/bell"),
        ("hook", "remove", 1),
        ("token", "remove", 1),
    ],
    ids=lambda words: words[0],
)
def test_a_script_has_to_say_yes(run, words):
    before = run("status", "--json").stdout
    said = run(*words, code=2).stderr
    assert "add --yes" in said
    assert "This removes " in said
    assert run("status", "--json").stdout == before
    run(*words, "--yes")


def test_a_last_administrator_is_refused_with_the_reason(run, listed):
    said = run("user", "remove", "bob", "--yes", code=5).stderr
    assert "bob is the last administrator of tower" in said
    assert "`tocsin org join tower LOGIN --role admin`" in said
    said = run("user", "remove", "eve", "--yes", code=5).stderr
    assert "eve is the last site administrator" in said
    run("user", "edit", "ada", "--site-admin")
    run("user", "remove", "eve", "--yes")
    assert len(listed("user", "list")) == 2


def test_an_organization_is_removed_and_its_members_stay(run, listed):
    run("org", "remove", "tower", "--yes")
    assert listed("org", "list") == []
    assert [row["repository"] for row in listed("repo", "list")] == ["ada/bell"]
    run("user", "remove", "bob", "--yes")
    assert "no organization" in run("org", "remove", "ada", "--yes", code=4).stderr


def test_a_repository_is_removed(run, listed):
    run("repo", "remove", "ada/bell", "--yes")
    assert [row["repository"] for row in listed("repo", "list")] == ["tower/clock"]
    assert listed("hook", "list") == []


def test_an_interrupted_removal_goes_on_when_it_is_run_again(run, listed, monkeypatch):
    run("repo", "add", "ada/chime")
    run("repo", "add", "ada/dial")

    def interrupt(seconds):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(account_removal, "MOST", 1)
        patch.setattr(removal.time, "sleep", interrupt)
        run("user", "remove", "ada", "--yes", code=1)
    assert len(listed("repo", "list")) == 3
    assert listed("hook", "list") == []
    run("user", "remove", "ada", "--yes")
    assert [row["repository"] for row in listed("repo", "list")] == ["tower/clock"]
    commands = [row["what"] for row in listed("audit", "list")]
    assert commands.count("tocsin user remove") == 2


def test_a_user_is_shown_and_changed(run):
    found = shown(run, "user", "show", "ADA")
    assert (found["login"], found["repositories"], found["tokens"]) == ("ada", 1, 1)
    assert (found["password"], found["one_time_passwords"]) == (False, False)
    run("user", "edit", "ada", "--name", "Ada of the Tower", "--email", "ada@tower.example")
    found = shown(run, "user", "show", "ada")
    assert (found["name"], found["email"]) == ("Ada of the Tower", "ada@tower.example")
    run("user", "edit", "ada", "--name", "", "--site-admin")
    found = shown(run, "user", "show", "ada")
    assert (found["name"], found["email"], found["site_admin"]) == (None, "ada@tower.example", True)
    run("user", "edit", "ada", "--no-site-admin")
    assert shown(run, "user", "show", "ada")["site_admin"] is False
    assert "say what to change" in run("user", "edit", "ada", code=2).stderr


def test_the_last_administrator_of_the_site_stays_one(run):
    said = run("user", "edit", "eve", "--name", "Eve", "--no-site-admin", code=5).stderr
    assert "eve is the last site administrator" in said
    found = shown(run, "user", "show", "eve")
    assert (found["name"], found["site_admin"]) == (None, True)


def test_an_organization_is_shown_and_changed(run):
    run("org", "edit", "tower", "--name", "The Tower", "--description", "eight bells")
    found = shown(run, "org", "show", "tower")
    assert (found["name"], found["description"]) == ("The Tower", "eight bells")
    assert (found["members"], found["repositories"]) == ({"bob": "admin"}, 1)
    run("org", "edit", "tower", "--description", "")
    assert shown(run, "org", "show", "tower")["description"] is None
    run("org", "edit", "tower", code=2)


def test_a_repository_is_shown_and_changed(run):
    run("repo", "edit", "ada/bell", "--private", "--description", "one bell")
    found = shown(run, "repo", "show", "ada/bell")
    assert (found["private"], found["description"], found["hooks"]) == (True, "one bell", 1)
    run("repo", "edit", "ada/bell", "--public")
    found = shown(run, "repo", "show", "ada/bell")
    assert (found["private"], found["description"]) == (False, "one bell")
    run("repo", "edit", "ada/bell", code=2)


def test_applications_tokens_and_sources_are_shown_and_changed(run):
    run("app", "add", "Lab", "--owner", "ada", "--url", "https://lab.example/")
    run("app", "edit", "lab", "--description", "tries things")
    found = shown(run, "app", "show", "Lab")
    assert (found["url"], found["description"]) == ("https://lab.example/", "tries things")
    run("app", "edit", "Lab", "--url", "https://new-lab.example/")
    assert shown(run, "app", "show", "Lab")["url"] == "https://new-lab.example/"
    assert shown(run, "token", "show", 1)["login"] == "ada"
    run("source", "add", "forge", "--secret", "a", "--owner", "ada")
    run("source", "edit", "forge", "--secret", "-", stdin="b\n")
    assert shown(run, "source", "show", "forge")["owner"] == "ada"
    run("source", "edit", "forge", "--secret", "", code=2)
    run("app", "edit", "Lab", code=2)
