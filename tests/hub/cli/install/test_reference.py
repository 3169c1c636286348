"""The README tells every setting, command and operation, as they are."""

import gc
import subprocess
import sys
from pathlib import Path

import click

from hub.cli import COMMANDS, main
from hub.cli.install import reference
from hub.cli.service.configuration import all_settings

README = Path(__file__).parents[4] / "README.md"


def test_the_tables_are_up_to_date():
    text = README.read_text(encoding="utf-8")
    assert reference.rewrite(text) == text, "run `python -m hub.cli.install.reference`"


def test_every_setting_and_command_is_there():
    text = README.read_text(encoding="utf-8")
    for setting in all_settings():
        assert f"| `{setting.name}` |" in text
    for command in COMMANDS:
        assert f"`tocsin {command}" in text


def test_writing(tmp_path):
    document = tmp_path / "README.md"
    document.write_text("before\n<!-- settings -->\nold\n<!-- /settings -->\nafter\n")
    reference.write(document)
    text = document.read_text()
    assert text.startswith("before\n<!-- settings -->\n| setting |")
    assert "\nold\n" not in text
    assert text.endswith("\n<!-- /settings -->\nafter\n")


def test_the_snippet_that_verifies_does():
    text = README.read_text(encoding="utf-8")
    names: dict = {}
    exec(text.split("```python\n")[1].split("```")[0], names)  # noqa: S102 - our own README's
    # The platform's published vector.
    header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    secret = "It's a Secret to Everybody"
    assert names["verify"](b"Hello, World!", secret, header)
    assert not names["verify"](b"Hello, World?", secret, header)
    assert not names["verify"](b"Hello, World!", secret, None)


def test_the_documents_of_the_readme_load(run):
    text = README.read_text(encoding="utf-8")
    assert "created" in run("load", "-", stdin=text.split("```yaml\n")[1].split("```")[0]).stdout


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
    """A client and what draws in terminals were a fifth of what a start has to import."""
    code = (
        "import sys; from hub.cli import main; main.get_command(None, 'serve');"
        "sys.exit(any(name in sys.modules for name in ('httpx', 'rich', 'pygments')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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
