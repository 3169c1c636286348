"""Every command helps, and none imports what it does not use."""

import gc
import subprocess
import sys

import click

from hub.cli import COMMANDS, main


def test_every_command_helps(run):
    assert "deliver" in run("--help").stdout
    for name in COMMANDS:
        command = main.get_command(None, name)
        assert command.help, name
        run(name, "--help")


def test_version_and_usage(run):
    assert run("--version").stdout.startswith("tocsin, version ")
    run("nothing", code=2)
    run("user", "nothing", code=2)
    run("user", "add", code=2)


def test_a_listing_starts_no_server():
    """Commands for operators stay light: they import neither the application nor the worker."""
    code = (
        "import sys; from hub.cli import main; main.get_command(None, 'token');"
        "sys.exit(any(name in sys.modules for name in ('hub.app', 'uvicorn', 'worker.service')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_start_imports_nothing_that_it_does_not_use():
    """Clients, templates and texts were a third of what a start had to import."""
    unused = (
        "httpx rich pygments jinja2 markdown_it nh3 nacl email_validator pychoosealicense"
        " licenseclassifier yaml sqlite_utils prometheus_client swagger_ui pydantic_settings"
    )
    code = (
        "import sys; from hub.cli import main; main.get_command(None, 'serve');"
        f"print(*(name for name in {unused.split()} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_importing_a_command_leaves_the_collector_as_it_was():
    assert gc.isenabled()
    main.get_command(click.Context(main), "token")
    assert gc.isenabled()
    gc.disable()
    try:
        main.get_command(click.Context(main), "token")
        assert not gc.isenabled()
    finally:
        gc.enable()
