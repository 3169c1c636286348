"""Failures that all commands share: each prints one line and ends with the documented exit code.

The command lines are the first examples in the help of each command.
"""

import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import click
import pytest

from hub.cli.console import exits
from hub.cli.manual.commands import all_commands

NOBODY = 65_534
# The files that the examples read.
FILES = {"state.yaml": "users: []", "app.json": '{"name": "Lab", "url": "https://lab.example/"}'}


def first_example(path: str, command: click.Command) -> list[str]:
    """Return the words after `tocsin` in a command's first example."""
    example = next(one for one in command.examples if path in one)
    typed = example.rpartition("| ")[2].removeprefix("sudo ").partition(" > ")[0]
    words = shlex.split(typed)[1:]
    # The test cannot answer the question whether to remove something.
    asks = any("--yes" in one.opts for one in command.params)
    return [*words, "--yes"] if asks and "--yes" not in words else words


LEAVES = {
    " ".join(path.split()[1:]): (first_example(path, command), command)
    for path, command, _ in all_commands()
    if not isinstance(command, click.Group)
}
# The first example of `listen` uses no installation.
LEAVES["listen"] = (["listen", "--subscribe", "ada/bell-tower"], LEAVES["listen"][1])
ON_DATA = {
    name: words
    for name, (words, command) in LEAVES.items()
    if any("--data-dir" in one.opts for one in command.params)
}
# `doctor` reports failures as findings, and ends with the code of the worst finding.
REPORTS = "doctor"
# These commands create or replace an installation, so an unusable one is no failure.
OTHER_COMMANDS = {"restore", "serve"}
READERS = [name for name in ON_DATA if name not in {*OTHER_COMMANDS, "settings"}]
# `key list` reads the key file but not the database.
READERS_OF_DATABASE = [name for name in READERS if name != "key list"]


def test_the_commands_are_found() -> None:
    assert len(LEAVES) > 90
    assert len(READERS_OF_DATABASE) > 90


@pytest.fixture(autouse=True)
def folder(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory. Commands run in a folder with the files that the examples read."""
    here = directory / "here"
    here.mkdir()
    for name, text in FILES.items():
        (here / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(here)
    monkeypatch.setenv("TOCSIN_ALLOW_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("TOCSIN_MAIL_HOST", "127.0.0.1")
    monkeypatch.setenv("TOCSIN_MAIL_FROM", "hub@tower.example")
    return directory


@pytest.fixture
def fails(run) -> Callable[..., str]:
    """Return a function that runs a failing command, checks that the error is one line, and
    returns it.
    """

    def call(name: str, *more: str, code: int) -> str:
        words = ON_DATA.get(name, LEAVES[name][0])
        done = run(*words, *more, code=_code(name, code), stdin="x\n")
        assert "Errno" not in done.output
        assert "Traceback" not in done.output
        if done.stdout and name == REPORTS:
            return done.stdout
        *before, line = done.stderr.splitlines()
        assert not before or before[0].startswith("Usage: "), done.stderr
        assert line.startswith("Error: ")
        return line

    return call


def _code(name: str, code: int) -> int:
    """Return the code that a command ends with if others end with `code`.

    `doctor` reports a failure as a finding, unless it may not read the data directory.
    """
    return exits.USAGE if name == REPORTS and code != exits.FIRST else code


def migrated_by_another(database: Path) -> None:
    """Record a migration that this program does not know."""
    with closing(sqlite3.connect(database)) as db, db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(migration)")]
        found = db.execute("SELECT * FROM migration").fetchall()[-1]
        newest = dict(zip(columns, found, strict=True))
        newest["number"] += 1
        db.execute(
            f"INSERT INTO migration VALUES ({', '.join('?' * len(columns))})", [*newest.values()]
        )


def damage(database: Path) -> None:
    """Overwrite all pages but the first one."""
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(4096)
        file.write(b"Z" * (size - 4096))


@pytest.mark.parametrize("name", LEAVES)
def test_an_unknown_option_is_a_usage_error(name, fails):
    assert "No such option" in fails(name, "--nonsense", code=exits.USAGE)


@pytest.mark.parametrize("name", [name for name in ON_DATA if name != "serve"])
def test_a_settings_file_that_is_not_there(name, fails):
    said = fails(name, "--config", "none.toml", code=exits.MISSING)
    assert "cannot read the settings file none.toml: No such file or directory" in said


@pytest.mark.parametrize("name", [name for name in ON_DATA if name != "serve"])
def test_wrong_settings_are_reported(name, fails, folder):
    (folder / "here" / "tocsin.toml").write_text("timeout = -1")
    said = fails(name, code=exits.FAILED)
    assert "timeout: Input should be greater than 0, not -1 (from tocsin.toml)" in said


@pytest.mark.parametrize("name", READERS)
def test_a_missing_installation_is_reported(name, fails, folder):
    said = fails(name, "--data-dir", "none", code=exits.MISSING)
    assert "none/tocsin.db" in said or "none/secret.key" in said or name == REPORTS
    assert not Path("none").exists()


@pytest.mark.parametrize("name", READERS)
def test_a_missing_key_is_reported(name, fails, folder):
    (folder / "secret.key").unlink()
    assert "secret.key: No such file or directory" in fails(name, code=exits.MISSING)


@pytest.mark.parametrize("name", READERS_OF_DATABASE)
def test_a_database_of_a_newer_program_is_refused(name, fails, folder):
    migrated_by_another(folder / "tocsin.db")
    assert "newer" in fails(name, code=exits.FAILED)


@pytest.mark.parametrize("name", READERS_OF_DATABASE)
def test_a_damaged_database_is_reported(name, fails, folder):
    damage(folder / "tocsin.db")
    said = fails(name, code=exits.FAILED)
    assert "malformed" in said or (name == REPORTS and "damaged" in said)


@pytest.mark.parametrize("name", READERS_OF_DATABASE)
def test_a_file_that_is_no_database_is_reported(name, fails, folder):
    (folder / "tocsin.db").write_text("Dear Ada, the bells ring. " * 40)
    assert "not a database" in fails(name, code=exits.FAILED)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("name", READERS)
def test_a_directory_of_another_user_is_reported(name, fails, folder, monkeypatch):
    # Root imports the command's modules first: the other user may not be able to read them.
    fails(name, "--data-dir", "none", code=exits.MISSING)
    files = {word: str(Path(word).resolve()) for word in FILES}
    words = [files.get(word, word) for word in ON_DATA[name]]
    monkeypatch.setitem(ON_DATA, name, words)
    monkeypatch.setenv("TOCSIN_DATA_DIR", str(folder / "data"))
    (folder / "data").mkdir(mode=0o700)
    for one in ("tocsin.db", "secret.key"):
        (folder / one).rename(folder / "data" / one)
    for one in (folder, *folder.parents):
        if one.is_relative_to(folder.parent):
            one.chmod(0o755)
    monkeypatch.chdir("/")
    os.seteuid(NOBODY)
    try:
        said = fails(name, code=exits.FIRST)
    finally:
        os.seteuid(0)
    assert "Permission denied: run the command as root (sudo)" in said


def damage_index(database: Path) -> None:
    """Overwrite the first page of the index that finds what is due."""
    with closing(sqlite3.connect(database)) as db:
        found = "SELECT rootpage FROM sqlite_master WHERE name = 'delivery_due'"
        (page,), (size,) = db.execute(found).fetchone(), db.execute("PRAGMA page_size").fetchone()
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"Z" * size)


@pytest.mark.parametrize("kind", [migrated_by_another, damage, damage_index])
def test_a_daemon_refuses_a_database_of_another_program(kind, folder):
    kind(folder / "tocsin.db")
    command = [sys.executable, "-m", "hub.cli", "serve", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == exits.FAILED
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ")
