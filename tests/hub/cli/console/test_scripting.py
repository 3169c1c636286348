"""The interface for scripts: JSON from every listing, exit codes, and messages with advice."""

import re
from collections.abc import Iterator

import click
import pytest

from hub.cli import main
from hub.cli.console import exits
from hub.cli.manual.commands import root_context
from store import Store
from store.errors import Unavailable


def every(group: click.Group, context: click.Context) -> Iterator[tuple[list[str], click.Command]]:
    """Yield the words and the object of each command in a group."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from every(command, inner)
        else:
            yield inner.command_path.split()[1:], command


COMMANDS = list(every(main, root_context()))
OTHERS = (["status"], ["settings"])
LISTINGS = [words for words, _ in COMMANDS if words[-1] == "list" or words in OTHERS]


def test_the_listings_are_found():
    assert len(LISTINGS) >= 15
    assert ["user", "list"] in LISTINGS
    assert ["delivery", "list"] in LISTINGS


@pytest.mark.parametrize("words", LISTINGS, ids=" ".join)
def test_every_listing_gives_json(words, listed, run, store, hook_id):
    found = listed(*words)
    assert isinstance(found, dict if words == ["status"] else list)


@pytest.mark.parametrize(
    "words", [words for words in LISTINGS if words != ["status"]], ids=" ".join
)
def test_an_empty_listing_suggests_the_next_command(words, run, listed):
    run("user", "add", "ada")
    if words in (
        ["user", "list"],
        ["settings"],
        ["job", "list"],
        ["audit", "list"],
        ["key", "list"],
    ):
        return
    assert listed(*words) == []
    result = run(*words)
    assert result.stdout == "", "advice must not go to standard output"
    assert re.search(r"`tocsin |POST /hub", result.stderr)


MISSING = [
    ["delivery", "show", 99],
    ["delivery", "redeliver", 99],
    ["hook", "enable", 99],
    ["hook", "show", 99],
    ["hook", "edit", 99, "--rate", 1],
    ["hook", "remove", 99, "--yes"],
    ["hook", "ping", 99],
    ["hook", "pause", 99],
    ["hook", "resume", 99],
    ["hook", "add", "no/thing", "https://192.0.2.1/"],
    ["event", "show", 99],
    ["websub", "show", 99],
    ["refusal", "show", 99],
    ["audit", "show", 99],
    ["job", "show", "nothing"],
    ["emit", "push", "no/thing", "--example"],
    ["user", "show", "nobody"],
    ["user", "edit", "nobody", "--name", "x"],
    ["user", "remove", "nobody", "--yes"],
    ["org", "show", "nobody"],
    ["org", "edit", "nobody", "--name", "x"],
    ["org", "remove", "nobody", "--yes"],
    ["repo", "show", "no/thing"],
    ["repo", "edit", "no/thing", "--private"],
    ["repo", "remove", "no/thing", "--yes"],
    ["app", "show", "nothing"],
    ["app", "edit", "nothing", "--url", "https://x.example/"],
    ["token", "show", 99],
    ["source", "show", "nothing"],
    ["source", "edit", "nothing", "--secret", "x"],
    ["hook", "rotate-secret", 99],
    ["token", "add", "nobody"],
    ["token", "remove", "--yes", 99],
    ["source", "remove", "--yes", "nothing"],
    ["app", "remove", "--yes", "nothing"],
    ["websub", "remove", "--yes", 99],
    ["repo", "add", "nobody/x"],
    ["org", "join", "nothing", "nobody"],
    ["delivery", "list", "--repo", "no/thing"],
    ["event", "list", "--repo", "no/thing"],
    ["job", "run", "nothing"],
    ["restore", "nothing"],
]


@pytest.mark.parametrize("words", MISSING, ids=lambda words: " ".join(map(str, words)))
def test_a_missing_thing_has_an_exit_code_and_advice(words, run):
    run("user", "add", "ada")
    said = run(*words, code=exits.MISSING).stderr
    assert said.startswith("Error: there is no ")
    assert "`tocsin " in said or words[0] in ("job", "restore")


def test_success_usage_errors_and_conflicts_have_exit_codes(run):
    run("user", "add", "ada", code=exits.DONE)
    run("user", "add", "ada", code=exits.CONFLICT)
    run("repo", "add", "ada", code=exits.USAGE)
    run("sql", "SELECT nothing FROM nowhere", code=exits.USAGE)
    assert "Did you mean" in run("user", "lits", code=exits.USAGE).stderr


def test_a_missing_precondition_has_an_exit_code(run, monkeypatch):
    monkeypatch.setenv("TOCSIN_STORE", "postgresql://nowhere.invalid/x")
    run("restore", "some.db", code=exits.FIRST)


def test_a_full_disk_has_the_exit_code_for_later(run, monkeypatch):
    def full(*args, **given):
        raise Unavailable("the disk is full")

    run("user", "add", "ada")
    monkeypatch.setattr(Store, "write_sync", full)
    assert run("user", "add", "bob", code=exits.LATER).stderr == "Error: the disk is full\n"


def test_a_typo_is_answered_with_the_nearest_command(run):
    assert "Did you mean 'delivery'" in run("deliverys", code=exits.USAGE).stderr
