"""What scripts rely on: JSON from every listing, exit codes, and messages that say what to do."""

import re
from collections.abc import Iterator

import click
import pytest

from hub.cli import main
from hub.cli.console import exits
from store import Store
from store.errors import Unavailable


def every(group: click.Group, context: click.Context) -> Iterator[tuple[list[str], click.Command]]:
    """Each command with its words."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from every(command, inner)
        else:
            yield inner.command_path.split()[1:], command


COMMANDS = list(every(main, click.Context(main, info_name="tocsin")))
LISTINGS = [words for words, command in COMMANDS if re.match("List |Say ", command.help)]


def test_the_listings_are_found():
    assert len(LISTINGS) >= 15
    assert ["user", "list"] in LISTINGS
    assert ["deliveries"] in LISTINGS


@pytest.mark.parametrize("words", LISTINGS, ids=" ".join)
def test_every_listing_gives_json(words, listed, run, store, hook_id):
    found = listed(*words)
    assert isinstance(found, dict if words == ["status"] else list)


@pytest.mark.parametrize(
    "words", [words for words in LISTINGS if words != ["status"]], ids=" ".join
)
def test_an_empty_listing_says_what_next(words, run, listed):
    run("user", "add", "ada")
    if words in (["user", "list"], ["settings"], ["jobs", "list"], ["audit"]):
        return
    assert listed(*words) == []
    assert re.search(r"`tocsin |POST /hub", run(*words).stdout)


MISSING = [
    ["delivery", 99],
    ["redeliver", 99],
    ["hooks", "enable", 99],
    ["hooks", "rotate-secret", 99],
    ["token", "create", "nobody"],
    ["token", "revoke", 99],
    ["source", "remove", "nothing"],
    ["app", "remove", "nothing"],
    ["websub", "revoke", 99],
    ["repo", "add", "nobody/x"],
    ["org", "join", "nothing", "nobody"],
    ["deliveries", "--repo", "no/thing"],
    ["events", "--repo", "no/thing"],
    ["jobs", "run", "nothing"],
    ["restore", "nothing"],
]


@pytest.mark.parametrize("words", MISSING, ids=lambda words: " ".join(map(str, words)))
def test_what_is_not_there(words, run):
    run("user", "add", "ada")
    said = run(*words, code=exits.MISSING).stderr
    assert said.startswith("Error: there is no ")
    assert "`tocsin " in said or words[0] in ("jobs", "restore")


def test_done_usage_conflict(run):
    run("user", "add", "ada", code=exits.DONE)
    run("user", "add", "ada", code=exits.CONFLICT)
    run("repo", "add", "ada", code=exits.USAGE)
    run("sql", "SELECT nothing FROM nowhere", code=exits.USAGE)
    assert "Did you mean" in run("user", "lits", code=exits.USAGE).stderr


def test_something_else_first(run, monkeypatch):
    monkeypatch.setenv("TOCSIN_STORE", "postgresql://nowhere.invalid/x")
    run("restore", "some.db", code=exits.FIRST)


def test_a_database_that_cannot_be_written_at_the_moment(run, monkeypatch):
    def full(*args, **given):
        raise Unavailable("the disk is full")

    run("user", "add", "ada")
    monkeypatch.setattr(Store, "do", full)
    assert run("user", "add", "bob", code=exits.LATER).stderr == "Error: the disk is full\n"


def test_a_typo_is_told_the_command_that_was_meant(run):
    assert "Did you mean 'delivery' or 'deliveries'" in run("deliverys", code=exits.USAGE).stderr
