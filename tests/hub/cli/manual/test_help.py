"""`tocsin help`: topics, and the pages, headings and commands that they name."""

import os
import pty
import re
import subprocess
import sys
from contextlib import closing

import click
import pytest
from pty_process import PtyProcess
from waiting import PATIENCE

from hub.cli import COMMANDS
from hub.cli.console.exits import MISSING
from hub.cli.manual import help as help_module
from hub.manual.library import manual


def test_without_a_topic_it_lists_every_page(run) -> None:
    said = run("help").stdout
    for entry in manual().entries:
        assert f"\n  {entry.name.rpartition('/')[2]} " in said


@pytest.mark.parametrize(
    ("topic", "first"),
    [
        (["concepts"], "# Concepts"),
        (["how-to/rotate-secrets"], "# Rotate secrets"),
        (["Rotate", "secrets"], "# Rotate secrets"),
        (["rotate"], "# Rotate secrets"),
        (["receive", "verify"], "# Receive and verify deliveries"),
        (["max_event_bytes"], "### max_event_bytes"),
        (["repos-create-webhook"], "### repos create webhook"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_a_topic_is_a_page_or_a_heading(run, topic: list[str], first: str) -> None:
    assert run("help", *topic).stdout.splitlines()[0] == first


def test_a_part_ends_at_the_next_heading_of_its_level(run) -> None:
    said = run("help", "max_event_bytes").stdout
    assert [line for line in said.splitlines() if line.startswith("#")] == ["### max_event_bytes"]


@pytest.mark.parametrize(
    "words", [["hook"], ["hooks"], ["hook", "list"], ["tocsin", "hook", "list"], ["deliveries"]]
)
def test_a_command_shows_its_help(run, words: list[str]) -> None:
    command = [word for word in words if word != "tocsin"]
    said = run(*command, "--help").stdout.replace("Usage: main", "Usage: tocsin")
    assert run("help", *words).stdout == said


@pytest.mark.parametrize(
    ("topic", "meant"), [("rotate-secrests", "rotate-secrets"), ("republsh", "republish")]
)
def test_a_typo_is_answered_with_the_nearest_topic(run, topic: str, meant: str) -> None:
    assert f"Did you mean '{meant}'" in run("help", topic, code=MISSING).stderr


def test_a_word_without_anything_close_says_where_they_are(run) -> None:
    assert "`tocsin help` lists them" in run("help", "zzzzqqqq", code=MISSING).stderr


@pytest.mark.parametrize(
    ("words", "topic"),
    [
        (["client_max_body_size"], "behind-a-proxy  (Use TLS, or a proxy)"),
        (["ip", "allowlist"], "from-which-ip-addresses-they-come  (Receive and verify deliveries)"),
    ],
)
def test_words_of_a_text_lead_to_its_topic(run, words: list[str], topic: str) -> None:
    said = run("help", *words, code=MISSING).stderr
    assert "These mention it:" in said
    assert f"\n  {topic}\n" in said


def test_several_topics_are_named(run) -> None:
    said = run("help", "secrets", code=MISSING).stderr
    assert "  rotate-secrets" in said
    assert "  artifacts-and-secrets" in said


def test_a_shell_offers_pages_and_commands() -> None:
    command = help_module.help_
    context = click.Context(command)
    offered = {one.value for one in command.params[0].shell_complete(context, "")}
    assert {"concepts", "rotate-secrets", "settings"} <= offered
    assert set(COMMANDS) <= offered


def test_on_a_terminal_it_is_drawn_in_a_pager() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PAGER": "cat", "TERM": "xterm-256color", "NO_COLOR": ""}
    command = [sys.executable, "-m", "hub.cli", "help", "concepts"]
    with os.fdopen(ours, "rb", buffering=0) as screen:
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, env=environment)
        os.close(theirs)
        shown = b""
        try:
            while piece := screen.read(4096):
                shown += piece
        except OSError:
            pass  # the other end is closed
        assert process.wait(PATIENCE) == 0
    assert b"# Concepts" not in shown
    assert b"Concepts" in shown
    assert b"\x1b[" in shown


PAGER = """#!/bin/sh
echo "LESS is $LESS"
exec cat
"""


@pytest.mark.parametrize(("less", "shown"), [(None, "-R"), ("-iMX", "-R -iMX"), ("FX", "-R FX")])
def test_the_pager_less_shows_colours_and_not_their_codes(tmp_path, less, shown) -> None:
    pager = tmp_path / "less"
    pager.write_text(PAGER)
    pager.chmod(0o755)
    chosen = {} if less is None else {"LESS": less}
    inherited = {name: value for name, value in os.environ.items() if name != "LESS"}
    environment = {**inherited, **chosen, "PAGER": str(pager), "NO_COLOR": ""}
    command = [sys.executable, "-m", "hub.cli", "help", "concepts"]
    with closing(PtyProcess(command, env=environment)) as process:
        process.until(f"^LESS is {re.escape(shown)}$")
        assert process.ended() == 0


def test_on_a_terminal_a_link_shows_its_target() -> None:
    command = [sys.executable, "-m", "hub.cli", "help", "concepts"]
    with closing(PtyProcess(command, env={**os.environ, "PAGER": "cat"})) as process:
        process.until(r"apps \(how-to/run-an-app.md\)")
        assert process.ended() == 0


@pytest.mark.parametrize(
    ("link", "first"),
    [
        ("how-to/run-an-app.md", "# Run an app that acts for itself"),
        ("../how-to/install.md", "# Install it, and run it as a service"),
        ("install.md#reload", "### Reload"),
        ("install.md#there-is-no-such-part", "# Install it, and run it as a service"),
    ],
)
def test_the_target_of_a_link_is_a_topic(run, link: str, first: str) -> None:
    assert run("help", link).stdout.splitlines()[0] == first


def test_on_a_narrow_terminal_the_list_of_pages_is_wrapped() -> None:
    listed = help_module.listing(manual(), 80).splitlines()
    assert max(map(len, listed)) <= 80
    found = next(at for at, line in enumerate(listed) if line.startswith("  troubleshoot "))
    assert listed[found + 1].startswith(" " * 20)
    assert help_module.listing(manual(), 30) == help_module.listing(manual())


def test_other_commands_do_not_load_the_manual() -> None:
    code = (
        "import sys; from hub.cli import main; main.get_command(None, 'token');"
        "sys.exit(any(name.startswith(('hub.manual', 'hub.cli.manual')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
