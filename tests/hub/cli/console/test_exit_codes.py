"""A command that fails prints one line and ends with the documented exit code."""

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest
from click import ClickException, Group
from click.testing import CliRunner

from hub.cli import main
from hub.cli.console import exits
from store.database import shell
from store.errors import StoreError

NOBODY = 65_534
URL = "https://receiver.example/"
# The modules that import the driver of PostgreSQL.
DRIVEN = (
    "store.database.postgres",
    "store.pg_migration.target",
    "store.pg_migration.target_connection",
)
# A command line, its exit code, and a part of its error message.
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
    ("token add ada --expires 0s", exits.USAGE, "'0s' is over at once"),
    ("hook silence 1 --for 0h", exits.USAGE, "'0h' is over at once"),
    ("replay --since 1h --until 2h", exits.USAGE, "--until is not after --since"),
    ("top --interval nan", exits.USAGE, "is no number of seconds"),
    ("listen --delay nan", exits.USAGE, "is no number of seconds"),
    ("sql SELECT --limit 99999999999999999999", exits.USAGE, "1000000"),
    ("user add \udcff", exits.USAGE, "is not UTF-8"),
    ("emit push \udcff/bell --example", exits.USAGE, "is not UTF-8"),
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
    ("status --store sqlite:////proc", exits.FAILED, "it is not a file"),
    ("listen --host a..b --port 0", exits.FAILED, "this is not a host name"),
    ("status --store postgresql://127.0.0.1:1/none", exits.LATER, "cannot be reached"),
]
WITH_IDS = [
    "hook show ID", "hook edit ID --rate 1", "delivery show ID", "delivery redeliver 1 ID",
    "delivery list --hook ID", "event show ID", "refusal show ID", "websub show ID",
    "websub remove ID", "token show ID", "token remove ID", "audit show ID",
    "audit list --before ID", "replay --since 1h --hook ID", "replay --since 1h --after ID",
    "republish follow ID", "republish stop ID", "hook test-filter 1 --event ID",
    "app key remove lab ID", "alert unsubscribe ada ID", "alert subscribe ada ID",
]  # fmt: skip


@pytest.fixture(autouse=True)
def accounts(run, directory):
    run("load", "-", stdin="users: [{login: ada}]\norganizations: [{login: tower}]")


def serve(*args: str) -> tuple[int, str]:
    """Return the exit code and stderr of a daemon that cannot start."""
    command = [sys.executable, "-m", "hub.cli", "serve", *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(("words", "code", "said"), FAILURES, ids=[one for one, _, _ in FAILURES])
def test_each_failure_has_its_code_and_a_line(run, words, code, said):
    shown = run(*words.split(), code=code).stderr
    assert said in shown
    assert "Errno" not in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("words", WITH_IDS)
def test_an_id_out_of_range_is_a_usage_error(run, words):
    for number in ("9" * 30, f"-{'9' * 30}", str(2**63 - 1)):
        with_option = words.replace("ID", number).split()
        # A negative number looks like an option.
        code = exits.USAGE
        shown = run(*with_option, code=code).stderr
        assert "larger than any id" in shown or "No such option" in shown
    for text in ("x", "1_0", "\N{FULLWIDTH DIGIT ONE}"):
        assert "is no id" in run(*words.replace("ID", text).split(), code=exits.USAGE).stderr


def output_of(*args: str, **streams: object) -> tuple[int, str]:
    """Run a command with unusual standard streams. Return its exit code and stderr."""
    command = [sys.executable, "-m", "hub.cli", *args]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **streams)
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", ["user list", "user list --json", "settings", "--help"])
def test_a_full_output_has_its_exit_code(words):
    with Path("/dev/full").open("w") as full:
        code, shown = output_of(*words.split(), stdout=full)
    assert (code, shown) == (
        exits.LATER,
        "Error: cannot write the output: No space left on device\n",
    )


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_closed_stream_is_no_failure(number):
    for words in (["status"], ["token", "add", "ada"]):
        assert output_of(*words, preexec_fn=lambda: os.close(number))[0] == exits.DONE


def test_unencodable_characters_are_escaped(run):
    run("user", "add", "bob", "--name", "Bób 鐘")
    command = [sys.executable, "-m", "hub.cli", "user", "list"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert "B\xf3b \\u9418" in done.stdout.decode("latin-1")


@pytest.mark.parametrize("error", [StoreError("it says \x1b[2J"), ClickException("\x1b[2J")])
def test_control_characters_of_other_programs_are_escaped(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Group, "invoke", Mock(side_effect=error))
    said = CliRunner().invoke(main, ["status"]).output
    assert "\\x1b[2J" in said
    assert "\x1b" not in said


def test_a_secret_that_is_no_utf8_is_a_usage_error(run):
    said = run("source", "add", "forge", "--secret", "-", stdin=b"\xff\n", code=exits.USAGE).stderr
    assert "standard input is not UTF-8" in said


# The script runs in a mount namespace, so that nothing stays mounted. $1: the directory; $2: `rw`
# or `ro`, the mount option; $3: the size of the disk; $4: the Python; the rest: the command.
ON_A_DISK = """
mkdir "$1/copy" "$1/disk"; cp "$1/tocsin.db" "$1/secret.key" "$1/copy"
mount -t tmpfs -o "size=$3" tmpfs "$1/disk"; cp "$1/copy/"* "$1/disk"
if [ "$2" = rw ]; then dd if=/dev/zero of="$1/disk/fill" bs=1k 2> /dev/null || true; fi
mount -o "remount,$2" "$1/disk"
python=$4; where=$1/disk; shift 4; exec "$python" -m hub.cli "$@" --data-dir "$where"
"""
MAY_MOUNT = os.geteuid() == 0 and shutil.which("unshare") is not None


@pytest.mark.skipif(not MAY_MOUNT, reason="needs root and unshare")
@pytest.mark.parametrize(
    ("mode", "size", "said"),
    [("rw", "8M", "the disk is full"), ("ro", "64M", "the file system is read-only")],
    ids=["full", "read-only"],
)
def test_an_unwritable_disk_has_its_exit_code(directory, mode, size, said):
    for words, code in (
        (["user", "add", "bob"], exits.LATER),
        (["status"], exits.LATER),
        (["serve", "--port", "0"], exits.LATER),
        (["doctor"], exits.USAGE),
    ):
        given = [str(directory), mode, size, sys.executable, *words]
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-euc", ON_A_DISK, "sh", *given],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done
        assert f"cannot open the database {directory}/disk/tocsin.db: {said}" in (
            done.stdout if words == ["doctor"] else done.stderr
        )
        assert "damaged" not in done.stdout
        assert len(done.stderr.splitlines()) <= 1
        for name in ("copy", "disk"):
            shutil.rmtree(directory / name)


def test_a_port_in_use_is_a_conflict(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = (
            f"Error: cannot listen on 127.0.0.1 port {port}: Address already in use:"
            " stop what uses it, or choose another one\n"
        )
        assert run("listen", "--port", port, code=exits.CONFLICT).stderr == said
        code, shown = serve("--port", str(port))
        assert code == exits.CONFLICT
        assert shown.endswith(said)
        assert "Traceback" not in shown


def test_a_daemon_without_its_settings():
    code, shown = serve("--config", "none.toml")
    assert code == exits.MISSING
    assert shown == "Error: cannot read the settings file none.toml: No such file or directory\n"


def test_a_database_of_the_first_release_ends_commands_and_a_start_with_one_line(run, directory):
    with closing(sqlite3.connect(directory / "tocsin.db")) as db:
        db.execute("UPDATE migration SET name = '0001_schema.sql' WHERE number = 1")
        db.commit()
    shown = run("user", "list", code=exits.FAILED).stderr
    assert shown.startswith("Error: another version of tocsin has made the database, with other")
    assert shown.endswith("or let `store` name a new database\n")
    assert serve("--port", "0") == (exits.FAILED, shown)
    new = ("--store", f"sqlite:///{directory}/new.db")
    run("load", "--init", "-", *new, stdin="users: [{login: eve}]")
    assert "eve" in run("user", "list", *new).stdout


def test_a_missing_driver_has_its_exit_code(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [one for one in sys.modules if one.startswith(DRIVEN)]:
        monkeypatch.delitem(sys.modules, name)
    for command in (["status", "--store"], ["migrate", "--to"]):
        shown = run(*command, "postgresql:///none", code=exits.FIRST).stderr
        assert "pip install 'psycopg" in shown


def test_sql_leaves_postgresql_to_another_program():
    with pytest.raises(StoreError, match="use psql") as refused:
        shell.query(Mock(), "SELECT 1", 1)
    assert exits.code_of(refused.value) == exits.FIRST


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("command", ["status", "doctor", "user list", "delivery list", "backup"])
@pytest.mark.parametrize("named", ["option", "environment", "store"])
def test_a_directory_of_another_user_has_its_exit_code(
    run, directory: Path, monkeypatch, command, named
):
    words = command.split()
    # Root imports the command's modules first: the other user may not be able to read them.
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
