"""What commands end with, and say, when something is wrong: the table holds in all of them."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hub.cli import main
from hub.cli.console import exits

NOBODY = 65_534
URL = "https://receiver.example/"
# A command line, the code of its end, and a part of what it says.
FAILURES = [
    ("user add ada/x", exits.USAGE, "'ada/x' is "),
    ("repo add ada", exits.USAGE, "is not OWNER/NAME"),
    ("repo add ada/a:b", exits.USAGE, "'a:b' is "),
    ("source add FORGE --secret x", exits.USAGE, "is no source name"),
    ("token add ada --scope nonsense", exits.USAGE, "repo_deployment"),
    ("token add ada --expires soon", exits.USAGE, "is no duration"),
    ("sql nonsense", exits.USAGE, "syntax error"),
    ("sql .nonsense", exits.USAGE, ".tables"),
    ("serve --port 80000", exits.USAGE, "65535"),
    ("listen --port 80000", exits.USAGE, "65535"),
    ("delivery list --since yesterday", exits.USAGE, "is neither a duration"),
    ("nonsense", exits.USAGE, "`tocsin --help`"),
    ("org join tower eve", exits.MISSING, "eve"),
    ("repo grant ada/none ada admin", exits.MISSING, "ada/none"),
    ("user password eve --remove", exits.MISSING, "eve"),
    ("app remove --yes lab", exits.MISSING, "lab"),
    ("token remove --yes 99", exits.MISSING, "99"),
    ("source remove --yes none", exits.MISSING, "none"),
    ("hook disable 99", exits.MISSING, "99"),
    ("hook edit 99 --rate 1", exits.MISSING, "99"),
    ("delivery list --hook 99", exits.MISSING, "hook 99"),
    ("replay --since 1h --hook 99", exits.MISSING, "hook 99"),
    ("delivery list --repo ada/none", exits.MISSING, "ada/none"),
    ("delivery show 99", exits.MISSING, "99"),
    ("delivery redeliver 99", exits.MISSING, "99"),
    ("load none.yaml", exits.MISSING, "none.yaml"),
    ("restore none.db", exits.MISSING, "none.db"),
    ("backup none/copy.db", exits.MISSING, "none/copy.db"),
    ("settings --config none.toml", exits.MISSING, "none.toml"),
    ("key rotate --key-file none.key", exits.MISSING, "none.key"),
    ("user list --data-dir none", exits.MISSING, "`tocsin serve` makes one"),
    ("user add eve --data-dir none", exits.MISSING, "`tocsin serve` makes one"),
    ("user add ada", exits.CONFLICT, "already"),
    ("status --store sqlite:////proc/none/tocsin.db", exits.MISSING, "no database"),
]


@pytest.fixture(autouse=True)
def accounts(run, directory):
    run("load", "-", stdin="users: [{login: ada}]\norganizations: [{login: tower}]")


def serve(*args: str) -> tuple[int, str]:
    """The code and the errors of a daemon that cannot start."""
    command = [sys.executable, "-m", "hub.cli", "serve", *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(("words", "code", "said"), FAILURES, ids=[one for one, _, _ in FAILURES])
def test_each_failure_has_its_code_and_a_line(run, words, code, said):
    shown = run(*words.split(), code=code).stderr
    assert said in shown
    assert "Errno" not in shown
    assert "Traceback" not in shown


def test_a_port_that_is_in_use(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = f"Error: cannot listen on 127.0.0.1 port {port}: Address already in use\n"
        assert run("listen", "--port", port, code=exits.CONFLICT).stderr == said
        code, shown = serve("--port", str(port))
        assert code == exits.CONFLICT
        assert shown.endswith(said)
        assert "Traceback" not in shown


def test_a_daemon_without_its_settings():
    code, shown = serve("--config", "none.toml")
    assert code == exits.MISSING
    assert shown == "Error: cannot read the settings file none.toml: No such file or directory\n"


def test_a_driver_that_is_not_installed(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [one for one in sys.modules if one.startswith("store.database.post")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [one for one in sys.modules if one.startswith("store.pg_migration.t")]:
        monkeypatch.delitem(sys.modules, name)
    for command in (["status", "--store"], ["migrate", "--to"]):
        shown = run(*command, "postgresql:///none", code=exits.FIRST).stderr
        assert "pip install 'psycopg" in shown


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("command", ["status", "doctor", "user list", "delivery list", "backup"])
@pytest.mark.parametrize("named", ["option", "environment", "store"])
def test_a_directory_of_somebody_else(run, directory: Path, monkeypatch, command, named):
    words = command.split()
    # Whatever it imports is imported by somebody who may.
    main.get_command(None, words[0])
    run(*words, "--help")
    directory.chmod(0o700)
    if named == "option":
        words += ["--data-dir", str(directory)]
    if named == "store":
        words += ["--store", f"sqlite:///{directory}/tocsin.db"]
    monkeypatch.chdir("/")
    os.seteuid(NOBODY)
    try:
        shown = run(*words, code=exits.FIRST).stderr
    finally:
        os.seteuid(0)
    assert "Permission denied: run the command as root (sudo)" in shown
    assert len(shown.splitlines()) == 1
