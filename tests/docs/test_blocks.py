"""The syntax, commands, options and settings in blocks of code are valid. This test does not run
the commands, except for loading a state document.
"""

import itertools
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from manual import ADMIN, README, Block, blocks, manual_pages, named, written_pages

from hub.cli import main

# Names of blocks that tests look up by themselves.
KNOWN = {"", ADMIN, "verify", "example", "receiver", "standard", "verify-key"}
PAGES = [page for page in written_pages() if blocks(page)]


def sh_blocks(*names: str) -> list[Block]:
    found = [one for page in written_pages() for one in blocks(page, "sh")]
    return [one for one in found if not names or one.name in names]


def commands_of(text: str) -> Iterator[list[str]]:
    """Each `tocsin` command in a block with its arguments."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars="|;&()\n")
    lexer.whitespace_split, lexer.whitespace = True, " \t"
    for between, group in itertools.groupby(lexer, lambda word: set(word) <= set("|;&()\n")):
        words = [word for word in group if word != "sudo"]
        while words and re.match(r"[A-Z_]+=", words[0]):
            words.pop(0)
        if not between and words and Path(words[0]).name == "tocsin":
            yield words[1:]


def check_command(arguments: list[str]) -> None:
    """Raise click's UsageError if a command or an option does not exist."""
    command: click.Command = main
    context = click.Context(main, info_name="tocsin")
    rest = list(arguments)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        if found is None:
            break
        command, context = found, click.Context(found, info_name=rest.pop(0), parent=context)
    command.make_parser(context).parse_args(rest)


ADMIN_COMMANDS = [one for each in sh_blocks("", ADMIN) for one in commands_of(each.text)]


def test_there_are_commands_to_check() -> None:
    assert ["systemd", "install"] in ADMIN_COMMANDS
    assert len(ADMIN_COMMANDS) > 40


@pytest.mark.parametrize("arguments", ADMIN_COMMANDS, ids=" ".join)
def test_a_command_and_its_options_exist(arguments: list[str]) -> None:
    check_command(arguments)


def test_an_option_that_does_not_exist_is_noticed() -> None:
    with pytest.raises(click.NoSuchOption):
        check_command(["hook", "rotate-secret", "--nothing"])


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_shell_blocks_are_well_formed(page: Path) -> None:
    for one in blocks(page, "sh"):
        subprocess.run(["bash", "-n"], input=one.text, text=True, check=True)


@pytest.mark.parametrize("page", manual_pages(), ids=named)
def test_every_name_of_a_block_is_known(page: Path) -> None:
    """If no test looked up the name of a block, no test would run the block."""
    if page.name != "tutorial.md":
        assert {one.name for one in blocks(page)} <= KNOWN


TOML = [one.text for page in manual_pages() for one in blocks(page, "toml")]


@pytest.mark.parametrize("text", TOML)
def test_the_settings_of_a_block_exist(text: str, directory: Path) -> None:
    (directory / "tocsin.toml").write_text(text)
    shown = CliRunner().invoke(main, ["settings", "--config", "tocsin.toml", "--json"])
    assert shown.exit_code == 0, shown.output
    listed = json.loads(shown.stdout)
    given = {row["setting"] for row in listed if "tocsin.toml" in row["from"]}
    assert given == tomllib.loads(text).keys()


EARLIER = """
users: [{login: ada}]
sources: [{name: forge, secret: hush}]
apps: [{name: Lab, owner: ada, url: "https://lab.example/"}]
"""
"""Things that the commands of other pages make, in the hub of a reader."""


def test_the_state_documents_load_into_the_hub_of_a_reader(directory: Path) -> None:
    (one,) = [
        one for page in manual_pages() for one in blocks(page, "yaml") if one.name == "example"
    ]
    whole = CliRunner().invoke(main, ["load", "--example"]).stdout
    for text in (EARLIER, one.text, whole):
        loaded = CliRunner().invoke(main, ["load", "--init", "-"], input=text)
        assert loaded.exit_code == 0, loaded.output
        assert "created" in loaded.stdout


def test_the_readme_has_the_command_that_ci_runs() -> None:
    script = (README.parent / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    (line,) = [one.text for one in blocks(README, "sh") if "pytest" in one.text]
    begin = script.index("python3 -m venv .venv")
    assert line.strip() == " && ".join(script[begin : begin + 3])
