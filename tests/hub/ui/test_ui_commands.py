"""Each command that the dashboard names exists, with its options."""

import re
from importlib.resources import files

import click
import pytest

from hub.cli import main

NAMED = re.compile(r"tocsin (?=[a-z])([^\"'`<\\]+)")
# In a sentence, these words follow the name of the program. They are no commands.
PROSE = ("form", "is", "are", "dashboard")


def commands() -> list[str]:
    """Return the command lines in templates and messages."""
    found = set()
    for folder in ("", "templates", "pages"):
        for path in (files("hub.ui") / folder).iterdir():
            if path.name.endswith((".py", ".html")):
                found |= {line.strip(" .:") for line in NAMED.findall(path.read_text("utf-8"))}
    return sorted(line for line in found if line.split()[0] not in PROSE)


def test_commands_are_found() -> None:
    assert {"doctor", "repo list", "replay --since 24h --dry-run"} <= set(commands())


@pytest.mark.parametrize("line", commands())
def test_a_named_command_exists(line: str) -> None:
    words = line.split()
    command: click.Command = main
    context = click.Context(command)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words.pop(0))
        assert found is not None, line
        command, context = found, click.Context(found, parent=context)
    options = {name for one in command.params for name in one.opts}
    assert {word for word in words if word.startswith("--")} <= options, line
