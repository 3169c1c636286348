"""Options that exclude each other, and values that cannot mean anything, are refused."""

import shlex

import click
import pytest

from hub.cli.console.exclusions import is_given
from hub.cli.console.grammar import Command
from hub.cli.manual.commands import all_commands

EXCLUDED = [
    "listen --forward 3000 --status 204",
    "listen --server http://hub.example --host 127.0.0.1",
    "listen --server http://hub.example --port 9000",
    "app install Mill ada --repo bells --all-repos",
    "migrate --to postgresql://db/tocsin --switch --abandon",
    "sql 'SELECT 1' --csv --json",
    "top --once --interval 5",
    "key rotate --everywhere --only-here",
    "hook rotate-secret 1 --end --secret s",
    "hook rotate-secret 1 --end --overlap 1h",
    "hook rotate-key 1 --end --key whsk_1",
    "hook rotate-key 1 --end --overlap 1h",
    "hook silence 1 --end --for 8h",
    "hook test-filter 1 --event 7 --name push",
    "event show 1 --payload --json",
    "event show 1 --payload --utc",
    "delivery list --follow --since 1h",
    "delivery list --follow --until 1h",
    "delivery list --host ci.example --hook 1",
    "replay --since 1h --host ci.example --hook 1",
    "republish begin --topic '*' --dry-run --rate 5",
    "republish begin --topic '*' --dry-run --no-wait",
]
EMPTY = [
    "sql ''",
    "audit list --who ''",
    "audit list --what ''",
    "app add Lab --owner ada --url ''",
    "app edit Lab --url ''",
    "repo add ada/bell --default-branch ''",
    "event list --event ''",
    "delivery list --event ''",
    "hook test-filter 1 --file - --name ''",
    "websub remove 1 --reason ''",
    "status --data-dir ''",
    "status --config ''",
    "backup ''",
    "systemd install --prefix ''",
]


def declared() -> set[tuple[str, str, str]]:
    """The command, the option and the excluded option of all exclusions."""
    return {
        (path.removeprefix("tocsin "), one.option, other)
        for path, command, _ in all_commands()
        if isinstance(command, Command)
        for one in command.exclusions
        for other in one.others
    }


def named(line: str) -> tuple[str, str, str]:
    """The command of a line, and its last two options."""
    words = shlex.split(line)
    *_, option, other = (word for word in words if word.startswith("--"))
    commands = {" ".join(words[:many]) for many in (1, 2)}
    (command,) = commands & {path for path, _, _ in declared()}
    return command, option, other


def test_each_declared_exclusion_is_tried() -> None:
    assert {named(line) for line in EXCLUDED} == declared()


@pytest.mark.parametrize("line", EXCLUDED)
def test_options_that_exclude_each_other_are_refused(run, line):
    _, option, other = named(line)
    said = run(*shlex.split(line), code=2).stderr
    assert f"{option} and {other} exclude each other: " in said


@pytest.mark.parametrize("line", EMPTY)
def test_a_text_that_may_not_be_empty_is_refused(run, line):
    assert "it is empty" in run(*shlex.split(line), code=2).stderr


def test_an_unknown_option_is_a_mistake_of_the_program() -> None:
    with pytest.raises(LookupError, match="has no option --json"):
        is_given(click.Context(click.Command("bare")), "--json")
