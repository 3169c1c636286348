"""One grammar for all commands: a noun, then `list`, `show`, `add`, `edit`, `remove`."""

import inspect
import re
import shlex

import click
import pytest

from hub.cli import COMMANDS, main
from hub.cli.commands import EXAMPLES, FORMER
from hub.cli.console.grammar import VERBS, Noun
from hub.cli.manual.commands import all_commands, root_context
from store.clock import Clock, MovableClock
from store.database.postgres.clock import PostgresClock

WIDTH = 80
EVERY = list(all_commands())
GROUPS = [(path, one, context) for path, one, context in EVERY if isinstance(one, click.Group)]
LEAVES = [(path, one, context) for path, one, context in EVERY if not isinstance(one, click.Group)]
# This group changes files of the machine, and has nothing to list.
VERBS_ONLY = "tocsin systemd"


def paths(found):
    return [path.removeprefix("tocsin ") for path, _, _ in found]


def options_of(command: click.Command) -> set[str]:
    return {name for one in command.params for name in one.opts}


def test_the_grammar_is_that_of_many_commands() -> None:
    assert len(GROUPS) > 12
    assert len(LEAVES) > 60


@pytest.mark.parametrize(("path", "group", "context"), GROUPS, ids=paths(GROUPS))
def test_a_noun_has_a_list_and_its_verbs_come_first(path, group, context) -> None:
    assert isinstance(group, Noun)
    assert group.name == path.split()[-1]
    assert not group.name.endswith("s") or path == VERBS_ONLY, "nouns are in the singular"
    names = group.list_commands(context)
    assert "list" in names or path == VERBS_ONLY
    common = [name for name in names if name in VERBS]
    assert names[: len(common)] == [verb for verb in VERBS if verb in common]
    assert not {"create", "delete", "set", "revoke", "update", "get"} & set(names)


# This command asks for confirmation, because it also removes the installation's tokens.
UNINSTALL = "tocsin app uninstall"


@pytest.mark.parametrize(("path", "command", "context"), LEAVES, ids=paths(LEAVES))
def test_listings_give_json_and_removals_ask(path, command, context) -> None:
    verb = path.split()[-1]
    if verb in ("list", "show"):
        assert {"--json"} <= options_of(command)
    if verb == "list" and path != "tocsin key list":
        assert {"--utc"} <= options_of(command)
    assert ("--yes" in options_of(command)) == (verb == "remove" or path == UNINSTALL)


@pytest.mark.parametrize(("path", "command", "context"), EVERY, ids=paths(EVERY))
def test_a_help_has_an_example_and_no_line_is_cut(path, command, context) -> None:
    shown = command.get_help(context)
    assert "\nExample" in shown
    for line in shown.splitlines():
        assert len(line) <= WIDTH, line
        assert not line.endswith("...") or line.startswith("Usage:"), line
    assert command.examples, path
    for example in command.examples:
        assert len(example) <= WIDTH - 2
        assert f"\n  {example}\n" in f"{shown}\n"


@pytest.mark.parametrize(("path", "command", "context"), EVERY, ids=paths(EVERY))
def test_the_first_line_of_a_help_fits_the_list_of_commands(path, command, context) -> None:
    text = inspect.cleandoc(command.help)
    assert re.match(r"[A-Z].*\.", text.split("\n\n")[0])
    said = command.get_short_help_str(1000)
    if path.count(" ") > 1:
        longest = max(map(len, context.parent.command.list_commands(context.parent)))
        assert len(said) <= WIDTH - 2 - 4 - longest, said


def test_the_first_help_is_in_groups_and_has_examples() -> None:
    shown = main.get_help(root_context())
    for title in ("Try it", "Accounts", "Traffic", "Operate", "Install", "Examples"):
        assert f"\n{title}:\n" in shown
    assert all(f"\n  {one}" in shown for one in EXAMPLES)
    assert max(map(len, shown.splitlines())) <= WIDTH
    assert not set(FORMER) & {line.split()[0] for line in shown.splitlines() if line.strip()}


SHOWN = [
    (path, example)
    for path, command, _ in EVERY
    for example in command.examples
    if "tocsin" in example
] + [("tocsin", example) for example in EXAMPLES]


@pytest.mark.parametrize(("path", "example"), SHOWN, ids=[example for _, example in SHOWN])
def test_an_example_is_a_command_line_that_there_is(path: str, example: str) -> None:
    words = shlex.split(example.rpartition("| ")[2].removeprefix("sudo "))
    assert words[0] == "tocsin"
    assert example.find(path) >= 0, "an example must name its command"
    command: click.Command = main
    context = root_context()
    rest = words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(context, rest[0])
        assert found is not None, rest[0]
        assert command is not main or rest[0] not in FORMER
        assert rest[0] not in getattr(command, "former", {})
        command, context = found, click.Context(found, info_name=rest.pop(0), parent=context)
    required = [one for one in command.params if one.required]
    given, _, _ = command.make_parser(context).parse_args(list(rest))
    assert all(given.get(one.name) is not None for one in required)


FORMERLY = [
    ("hooks", ["hook", "list"]),
    ("hooks list", ["hook", "list"]),
    ("hooks --repo ada/bell", ["hook", "list", "--repo", "ada/bell"]),
    ("events --limit 1", ["event", "list", "--limit", "1"]),
    ("deliveries --state waiting", ["delivery", "list", "--state", "waiting"]),
    ("delivery 1", ["delivery", "show", "1"]),
    ("refusals", ["refusal", "list"]),
    ("jobs", ["job", "list"]),
    ("audit --limit 5", ["audit", "list", "--limit", "5"]),
    ("audit --verify --json", ["audit", "verify", "--json"]),
    ("audit --json --verify", ["audit", "verify", "--json"]),
]


@pytest.mark.parametrize(("former", "now"), FORMERLY, ids=[one for one, _ in FORMERLY])
def test_a_former_word_still_works(run, hook_id, monkeypatch, former: str, now: list[str]) -> None:
    # The rows show when a job is due, which depends on the time. The clocks stand still.
    for clock in (Clock, PostgresClock):
        monkeypatch.setattr(clock, "now", MovableClock().now)
    assert run(*former.split()).stdout == run(*now).stdout


def test_former_words_that_change_something_still_work(run, listed, hook_id) -> None:
    run("hooks", "set", hook_id, "--rate", 5)
    run("hooks", "disable", hook_id)
    run("hooks", "enable", hook_id)
    run("redeliver", 1)
    run("jobs", "run", "expire")
    run("token", "create", "ada")
    run("token", "revoke", 1)
    assert [row["what"] for row in listed("audit", "list")] == [
        "tocsin token remove",
        "tocsin token add",
        "tocsin job run",
        "tocsin delivery redeliver",
        "tocsin hook enable",
        "tocsin hook disable",
        "tocsin hook edit",
    ]


def test_no_former_word_is_a_command() -> None:
    assert not set(FORMER) & set(COMMANDS)
    for _, group, context in GROUPS:
        assert not set(group.former) & set(group.list_commands(context))


def test_a_noun_alone_lists_and_a_number_shows(run, hook_id) -> None:
    assert run("hook").stdout == run("hook", "list").stdout
    assert run("hook", "--json").stdout == run("hook", "list", "--json").stdout
    assert run("hook", hook_id).stdout == run("hook", "show", hook_id).stdout
    assert "Commands:" in run("hook", "-h").stdout
    assert "Did you mean" in run("hook", "puase", code=2).stderr
