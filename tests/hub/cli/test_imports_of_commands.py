"""How little a command imports: somebody waits for it, or many processes start at once."""

import os
import subprocess
import sys

import pytest

from hub import __version__
from hub.cli import COMMANDS, main
from hub.cli.commands import SECTIONS, SHORT

OWN = {
    "hub",
    "hub.cli",
    "hub.cli.commands",
    "hub.cli.console",
    "hub.cli.console.exits",
    "store",
    "store.errors",
}
# What the standard library and click are made of, with room for another Python's.
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
    outside = {name.split(".")[0] for name in found} - sys.stdlib_module_names
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


def test_every_command_has_its_line_of_the_help(run):
    shown = run("--help").stdout
    assert set(SHORT) == set(COMMANDS)
    for section in SECTIONS:
        assert f"\n{section}:\n" in shown
    for name, text in SHORT.items():
        assert f"  {name} " in shown
        assert f" {text}\n" in shown, "no line is cut or folded"
        assert main.get_command(None, name)


def test_the_distributions_own_name_is_a_package(tmp_path):
    """From a folder without the sources, as whoever has installed it imports it."""
    for code in (["-m", "tocsin", "--version"], ["-c", "import tocsin; print(tocsin.__version__)"]):
        done = subprocess.run(
            [sys.executable, *code],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.split()[-1] == __version__


@pytest.mark.parametrize("noun", ["token", "user", "hook", "event", "delivery"])
def test_a_listing_starts_no_server(noun):
    """Commands for operators stay light: they import neither the application nor the worker."""
    code = (
        "import sys; from hub.cli import main;"
        f"main.get_command(None, {noun!r}).get_command(None, 'list');"
        "sys.exit(any(name in sys.modules for name in ('hub.app', 'uvicorn', 'worker.service')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_start_imports_nothing_that_it_does_not_use():
    """Clients, templates and texts were a third of what a start had to import."""
    unused = (
        "httpx rich pygments jinja2 markdown_it nh3 nacl pychoosealicense"
        " licenseclassifier yaml sqlite_utils prometheus_client swagger_ui pydantic_settings"
    )
    code = (
        "import sys; from hub.cli import main; main.get_command(None, 'serve');"
        f"print(*(name for name in {unused.split()} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
