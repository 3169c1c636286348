"""Commands import few modules, because a user waits for them or many start at once."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import click
import pytest

from hub import __version__
from hub.cli import COMMANDS, main
from hub.cli.commands import SECTIONS, SHORT
from hub.cli.console.grammar import Noun

OWN = {
    "hub",
    "hub.cli",
    "hub.cli.commands",
    "hub.cli.console",
    "hub.cli.console.exits",
    "hub.cli.console.late_imports",
    "hub.cli.console.streams",
    "store",
    "store.errors",
}
# The maximum of modules: the standard library's and click's, with room for other Pythons.
MOST = 160

LISTED = (
    "import atexit, sys;"
    "atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
    "from hub.cli import main;"
    "main(prog_name='tocsin')"
)


def imported(*args: str, **environment: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", LISTED, *args],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout
    return set(done.stderr.split())


COMPLETED = {
    "_TOCSIN_COMPLETE": "bash_complete",
    "COMP_WORDS": "tocsin us",
    "COMP_CWORD": "1",
}


@pytest.mark.parametrize(
    ("args", "environment"),
    [(["--version"], {}), (["--help"], {}), ([], COMPLETED)],
    ids=["version", "help", "completion"],
)
def test_help_version_and_completion_import_the_command_line_alone(args, environment):
    found = imported(*args, **environment)
    assert {name for name in found if name.split(".")[0] in ("hub", "store", "worker")} == OWN
    # Each process of a distribution's Python imports `sitecustomize`.
    outside = {name.split(".")[0] for name in found} - sys.stdlib_module_names - {"sitecustomize"}
    assert {name for name in outside if not name.startswith("_")} <= {"hub", "store", "click"}
    assert len(found) <= MOST, f"{len(found)} modules: {sorted(found)}"


def test_an_error_of_the_store_imports_nothing_else_of_it():
    code = "import sys, store.errors; print(*(name for name in sys.modules if 'store' in name))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["store", "store.errors"]


def test_a_daemon_makes_validators_when_a_request_needs_them():
    code = (
        "from hub.operations import OPERATIONS;"
        "assert not any({'body', 'query', 'fields'} & vars(one).keys() for one in OPERATIONS)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("part", "unused"),
    [
        (
            "worker_runner",
            ("hub.api", "hub.ui", "hub.app", "hub.operations", "hub.openapi", "hub.rest.context"),
        ),
        ("hub_runner", ("worker.service", "worker.delivery.dispatcher", "worker.jobs")),
        # International names, and topics that are feeds, are rare.
        ("worker_runner", ("idna", "xml")),
        ("hub_runner", ("idna", "xml", "jinja2")),
    ],
)
def test_a_part_of_a_daemon_imports_nothing_that_it_may_never_need(part, unused):
    code = (
        "import sys; from hub.cli import main; main.get_command(None, 'serve');"
        f"import hub.cli.service.{part}; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = done.stdout.split()
    assert f"hub.cli.service.{part}" in found
    assert [
        name for name in found if f"{name}.".startswith(tuple(f"{one}." for one in unused))
    ] == []


def test_every_command_has_its_line_of_the_help(run):
    shown = run("--help").stdout
    assert set(SHORT) == set(COMMANDS)
    for section in SECTIONS:
        assert f"\n{section}:\n" in shown
    for name, text in SHORT.items():
        assert f"  {name} " in shown
        assert f" {text}\n" in shown, "no line is cut or folded"
        assert main.get_command(None, name)


def nouns(group: click.Group) -> Iterator[Noun]:
    """Yield the nouns in a group, at any depth, whose commands are in other modules."""
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        if isinstance(found, Noun):
            yield from nouns(found)
            if found.lazy:
                yield found


def test_a_nouns_help_has_the_line_of_each_of_its_commands():
    found = list(nouns(main))
    assert found
    for noun in found:
        for name, (_, text) in noun.lazy.items():
            command = noun.get_command(click.Context(noun), name)
            assert command is not None
            assert command.get_short_help_str(1000) == text
            assert not command.hidden, "the help shows each of them"


@pytest.mark.parametrize(
    ("args", "environment"),
    [
        (["hook", "--help"], {}),
        (["user", "--help"], {}),
        (["repo", "--help"], {}),
        (["delivery", "--help"], {}),
        ([], COMPLETED | {"COMP_WORDS": "tocsin hook r", "COMP_CWORD": "2"}),
        ([], COMPLETED | {"COMP_WORDS": "tocsin hook show ", "COMP_CWORD": "3"}),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else given.get("COMP_WORDS", ""),
)
def test_help_and_completion_of_a_noun_import_none_of_its_commands(args, environment, run):
    run("user", "add", "ada")
    run("repo", "add", "ada/bell-tower")
    run("hook", "add", "ada/bell-tower", "https://receiver.example/hook")
    of_other_commands = {
        f"hub.cli.{place.partition(':')[0]}"
        for noun in nouns(main)
        for place, _ in noun.lazy.values()
    }
    assert imported(*args, **environment) & (of_other_commands | {"hub.rest", "asyncio"}) == set()


def test_the_distributions_own_name_is_a_package(tmp_path):
    """The import runs in a folder without the sources, as it does after an installation."""
    for code in (["-m", "tocsin", "--version"], ["-c", "import tocsin; print(tocsin.__version__)"]):
        done = subprocess.run(
            [sys.executable, *code],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.split()[-1] == __version__


@pytest.mark.parametrize("noun", ["token", "user", "hook", "event", "delivery"])
def test_a_listing_starts_no_server(noun):
    """Commands for operators stay light: they import neither the application nor the worker."""
    servers = ["hub.app", "uvicorn", "worker.service"]
    code = (
        "import sys; from hub.cli import main;"
        f"main.get_command(None, {noun!r}).get_command(None, 'list');"
        f"sys.exit(any(name in sys.modules for name in {servers}))"
    )
    assert all(find_spec(name) for name in servers)
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_command_without_a_shell_imports_no_suggestions():
    code = (
        "import sys; from hub.cli import main; main.get_command(None, 'status');"
        "sys.exit('hub.cli.console.suggestions' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_settings_import_no_parser_for_their_defaults():
    unused = ["store.registry.republish_runs", "apscheduler", "store.accounts.email_address"]
    code = (
        "import sys; from hub.cli.service.configuration import Settings; Settings();"
        f"sys.exit(any(name in sys.modules for name in {unused}))"
    )
    assert all(find_spec(name) for name in unused)
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["user", "add", "grace"],
        ["repo", "list", "--json"],
        ["hook", "list", "--json"],
        ["event", "list", "--json"],
        ["delivery", "list", "--json"],
        ["token", "create", "ada"],
    ],
    ids=" ".join,
)
def test_a_short_command_imports_nothing_of_a_daemon(words, run, directory):
    """It needs no event loop, schedules, filters or terminal colours."""
    run("user", "add", "ada")
    unused = {"asyncio", "apscheduler", "rich", "store.delivery.filtering", "hub.rest", "uvicorn"}
    assert all(find_spec(name) for name in unused)
    assert imported(*words, TOCSIN_DATA_DIR=str(directory)) & unused == set()


def test_a_start_imports_nothing_that_it_does_not_use():
    """HTTP clients, templates and texts were once a third of the imports at the start."""
    unused = (
        "httpx rich pygments jinja2 markdown_it nh3 nacl pychoosealicense"
        " licenseclassifier yaml sqlite_utils prometheus_client swagger_ui pydantic_settings"
        " cryptography.x509 xml.etree.ElementTree worker.imports.import_round"
    )
    code = (
        "import sys; from hub.cli import main; main.get_command(None, 'serve');"
        "import hub.cli.service.worker_runner, hub.cli.service.hub_runner;"
        f"print(*(name for name in {unused.split()} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
