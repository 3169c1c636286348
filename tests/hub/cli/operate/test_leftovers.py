"""The files that killed commands leave, and what `tocsin doctor` says of them."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from installation import opened
from waiting import PATIENCE

from hub.cli.operate import doctor_machine as machine
from hub.cli.operate.doctor_leftovers import check_backup_leftovers, check_restores
from hub.cli.service.configuration import Settings
from store.accounts import accounts
from store.backup import restore as restoring
from store.clock import Clock, compact

NOBODY = 65534

# Runs a command line, and kills it before it renames a file to a name with this ending.
KILLED = """
import os, signal, sys
from pathlib import Path
from hub.cli import main

real = Path.replace

def replace(path, target):
    if str(target).endswith(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(path, target)

Path.replace = replace
main(sys.argv[2:])
"""


@pytest.fixture(autouse=True)
def synchronized(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the clock service of this machine."""
    monkeypatch.setattr(machine, "ask_timedatectl", lambda: True)


@pytest.fixture
def seeded(directory: Path, run) -> Path:
    """An installation, and a backup of it from before the last account."""
    with opened(directory) as store:
        store.write_sync(accounts.create, "ada")
    directory.chmod(0o700)
    run("backup", "copy.db", "--with-key")
    with opened(directory) as store:
        store.write_sync(accounts.create, "bob")
    return directory


def kill(end: str, *args: str) -> None:
    command = [sys.executable, "-c", KILLED, end, *args]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def said(run, code: int = 1) -> list[tuple[str, str, str]]:
    """Return what `doctor` says of files: level, sentence and remedy."""
    found = json.loads(run("doctor", "--json", code=code).stdout)["findings"]
    rows = [one for one in found if one["about"] == "leftovers"]
    return [(one["level"], one["said"], one["remedy"]) for one in rows]


def logins(folder: Path) -> list[str]:
    with opened(folder) as store:
        return [row["login"] for row in store.read_sync(accounts.list_all)]


def test_a_killed_restore_is_named_with_its_files(run, seeded):
    kill("/tocsin.db", "restore", "copy.db")
    copy = seeded / ".tocsin.db.restoring"
    (aside,) = seeded.glob("tocsin.replaced-*.db")
    first, second = said(run)
    assert first == (
        "warning",
        f"{copy} is the copy of a backup: a restore was interrupted",
        f"run `tocsin restore` again. If you no longer want it, `rm {copy}*`",
    )
    assert second == (
        "warning",
        f"{aside} is a second name of a file in use: a restore was interrupted",
        f"rm {aside}",
    )
    for path in (aside, *seeded.glob(".tocsin.db.restoring*")):
        path.unlink()
    assert said(run, code=0) == []
    assert logins(seeded) == ["ada", "bob"]


def test_a_killed_restore_can_be_repeated(run, seeded):
    kill("/tocsin.db", "restore", "copy.db")
    run("restore", "copy.db")
    assert logins(seeded) == ["ada"]
    assert [level for level, _, _ in said(run)] == ["good", "good"]


def test_a_database_that_a_restore_replaced_is_named(run, seeded):
    run("restore", "copy.db")
    (aside,) = seeded.glob("tocsin.replaced-*.db")
    ((level, sentence, _),) = said(run)
    assert level == "good"
    assert sentence.startswith(f"{aside} is the database from before a restore, ")
    assert sentence.endswith(": delete it when you no longer need it")


def test_old_databases_without_a_suffix_are_named_once(tmp_path):
    folder = tmp_path / "all bells"
    folder.mkdir()
    database = folder / "hub"
    for name in ("hub", "hub.replaced-20260102T000000Z", "hub.replaced-20260102T000000Z-wal"):
        (folder / name).touch()
    kinds = [one.said.removeprefix(f"{folder}/").split()[:4] for one in check_restores(database)]
    aside = "hub.replaced-20260102T000000Z"
    assert kinds == [[aside, "is", "the", "database"], [f"{aside}-wal", "is", "the", "log"]]
    # A shell must not take the path for two.
    copy = folder / ".hub.restoring"
    copy.touch()
    assert f"`rm '{copy}'*`" in next(check_restores(database)).remedy


def test_an_old_database_is_not_to_be_deleted_before_a_restore_has_ended(run, seeded):
    run("restore", "copy.db")
    (aside,) = seeded.glob("tocsin.replaced-*.db")
    kill("/tocsin.db", "restore", "copy.db")
    (remedy,) = (remedy for _, sentence, remedy in said(run) if f"{aside} " in sentence)
    assert remedy == "keep it until a restore has ended and all is well"


def test_a_running_restore_is_no_leftover(run, seeded, monkeypatch):
    real, found = restoring.replace_database, []

    def meanwhile(*args):
        found.extend(said(run, code=2))
        return real(*args)

    monkeypatch.setattr(restoring, "replace_database", meanwhile)
    run("restore", "copy.db")
    ((level, sentence, _),) = found
    assert level == "bad"
    assert "is being restored" in sentence


def test_no_new_database_is_made_in_the_middle_of_a_restore(run, seeded):
    """Without hard links, the database has no name for a moment."""
    (seeded / "tocsin.db").rename(seeded / "tocsin.replaced-20260102T000000Z.db")
    shutil.copy("copy.db", ".tocsin.db.restoring")
    reason = run("user", "add", "eve", code=1).stderr
    assert "a restore was interrupted: run `tocsin restore` again" in reason
    assert all("keep it" in remedy for _, name, remedy in said(run, code=2) if "replaced" in name)
    run("restore", "copy.db")
    assert logins(seeded) == ["ada"]


def test_two_restores_in_one_second_keep_both_databases(run, seeded, monkeypatch):
    now = Clock().now()
    monkeypatch.setattr(Clock, "now", lambda self: now)
    run("restore", "copy.db")
    run("restore", "copy.db")
    first = seeded / f"tocsin.replaced-{compact(now)}.db"
    second = seeded / f"tocsin.replaced-{compact(now)}-2.db"
    assert sorted(seeded.glob("tocsin.replaced-*")) == sorted([first, second])
    for path, names in ((first, ["ada", "bob"]), (second, ["ada"])):
        shutil.copy(path, seeded / "tocsin.db")
        assert logins(seeded) == names


@pytest.mark.parametrize("name", ["copy.db", "copy.db.zst"])
def test_a_killed_backup_is_named_with_its_key(run, seeded, name):
    folder = seeded / "elsewhere"
    folder.mkdir()
    run("backup", folder / "first.db")
    target = folder / name
    kill(f"/{name}", "backup", str(target), "--with-key")
    ((level, sentence, remedy),) = said(run)
    assert level == "warning"
    assert sentence == f"{target}.key is a copy of the key, and its backup {name} is not there"
    assert remedy == f"if you did not move that backup, `rm {target}.key`"
    parts = [*folder.glob(".*.part*")]
    for path in parts:
        os.utime(path, (0, 0))
    assert [remedy for _, _, remedy in said(run)[:-1]] == [f"rm {path}" for path in sorted(parts)]
    for path in (*parts, folder / f"{name}.key"):
        path.unlink()
    assert said(run, code=0) == []


def test_files_that_are_no_backups_are_not_named(run, seeded, monkeypatch):
    folder = seeded / "elsewhere"
    folder.mkdir()
    key = folder / "own.db.key"
    (seeded / "secret.key").rename(key)
    monkeypatch.setenv("TOCSIN_KEY_FILE", str(key))
    run("backup", folder / "first.db")
    for name in (".film.part", ".report.partial", ".0123abcd.part"):
        (folder / name).touch()
        os.utime(folder / name, (0, 0))
    assert said(run, code=0) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_closed_directory_of_another_user_is_left_out(run, seeded):
    """Root has made the last backup, and the user of the service runs doctor."""
    closed = seeded / "closed" / "backups"
    closed.mkdir(parents=True)
    run("backup", closed / "first.db")
    closed.parent.chmod(0o700)
    settings = Settings(data_dir=seeded)
    with opened(seeded) as store:
        store.read_sync(accounts.list_all)
        os.seteuid(NOBODY)
        try:
            found = [*check_backup_leftovers(store, settings, seeded / "tocsin.db")]
        finally:
            os.seteuid(0)
    assert found == []


def test_a_killed_rotation_of_the_key_is_named(run, seeded):
    kill("/secret.key", "key", "rotate")
    path = seeded / ".secret.key.part"
    assert said(run) == [
        (
            "warning",
            f"{path} holds keys: a change of the key file was interrupted. Nothing needs this file",
            f"rm {path}",
        )
    ]
    run("key", "rotate")
    assert said(run, code=0) == []
