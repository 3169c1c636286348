"""`tocsin backup` and `tocsin restore`: a restore recovers all data and keeps the old database."""

import _thread
import errno
import json
import os
import shutil
import signal
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from installation import damage_index, opened, seed

from store import Connection, Store
from store.accounts import accounts
from store.backup import backup
from store.backup import restore as restoring
from store.crypto import file_copy
from store.crypto.vault import Vault
from store.database import migrations
from store.database.body_codec import zstd
from store.database.sqlite import file
from store.database.sqlite.engine import SqliteEngine
from store.delivery import leases
from store.errors import Full
from store.hooks import hook_queries, hooks
from store.pg_migration.tables import no_notifier


@pytest.fixture
def seeded(directory: Path) -> Path:
    """An installation with three events and a hook whose secret is encrypted."""
    with opened(directory) as store:
        store.write_sync(seed)
    return directory


def logins(folder: Path) -> list[str]:
    with opened(folder) as store:
        return [row["login"] for row in store.read_sync(accounts.list_all)]


def secret(folder: Path) -> str | None:
    def read(db: Connection) -> str | None:
        (hook,) = hook_queries.every(db)
        return hooks.secret_of(db, hook)

    with opened(folder) as store:
        return store.read_sync(read)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def parts(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*") if path.is_file()]


# Backing up.

# The default name of a backup.
BY_TIME = "tocsin-20260102T000000Z.db"


def test_a_directory_that_is_no_utf8_can_be_backed_up(run, listed, seeded, monkeypatch):
    other = seeded / "\udcff"
    other.mkdir()
    for name in ("tocsin.db", "secret.key"):
        (seeded / name).rename(other / name)
    monkeypatch.setenv("TOCSIN_DATA_DIR", str(other))
    made = json.loads(run("backup", "--json").stdout)
    assert made["file"].startswith(rf"{seeded}/\udcff/backups/tocsin-")
    assert [row["more"]["file"] for row in listed("audit", "list")] == [made["file"]]
    assert "hook\n" in run("sql", ".tables").stdout
    levels = {
        row["level"] for row in json.loads(run("doctor", "--json", code=1).stdout)["findings"]
    }
    assert "bad" not in levels
    values = {row["setting"]: row["value"] for row in listed("settings")}
    assert values["data_dir"] == rf"{seeded}/\udcff"


def test_a_backup_is_made(run, seeded):
    said = run("backup", "copy.db")
    assert said.stdout.startswith("copy.db: ")
    assert "3 events, the last of 20" in said.stdout
    assert f"keep a copy of {seeded}/secret.key elsewhere" in said.stderr
    assert mode(seeded / "copy.db") == 0o600
    assert parts(seeded) == []
    assert not (seeded / "copy.db.key").exists()
    with closing(sqlite3.connect("copy.db")) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("SELECT count(*) FROM event").fetchone() == (3,)
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_newer_program_backs_up_an_older_database(run, seeded, tmp_path, monkeypatch):
    steps = migrations.steps()
    later = (steps[-1][0] + 1, "9001_more.sql", "CREATE TABLE more (id {id})")
    before = file.verify_database(seeded / "tocsin.db", seeded).step
    target = tmp_path / "copy.db"
    with monkeypatch.context() as newer:
        newer.setattr(migrations, "steps", lambda: [*steps, later])
        assert "an older tocsin has written the database" in run("backup", target).stderr
    for database in (target, seeded / "tocsin.db"):
        found = file.verify_database(database, database)
        assert (found.step, found.events) == (before, 3)
    run("restore", target)
    assert logins(seeded) == ["ada"]


def test_a_backup_goes_to_the_backup_folder_by_default(run, seeded):
    found = json.loads(run("backup", "--json").stdout)
    path = Path(found["file"])
    assert path.parent == seeded / "backups"
    assert mode(path.parent) == 0o700
    assert backup.list_backups(path.parent, seeded / "tocsin.db") == [path]
    assert found["bytes"] == path.stat().st_size
    assert found["events"] == 3
    assert found["key"] is None
    (seeded / "elsewhere").mkdir()
    run("backup", "elsewhere")
    assert len(list((seeded / "elsewhere").iterdir())) == 1
    run("backup", "nowhere/copy.db", code=4)


def test_nothing_is_overwritten_unless_asked(run, seeded):
    (seeded / "copy.db").write_text("somebody's")
    assert "--overwrite replaces it" in run("backup", "copy.db", code=5).stderr
    assert (seeded / "copy.db").read_text() == "somebody's"
    (seeded / "copy.db").unlink()
    (seeded / "copy.db.key").write_text("somebody's")
    assert "copy.db.key is there" in run("backup", "copy.db", "--with-key", code=5).stderr
    assert not (seeded / "copy.db").exists()
    run("backup", "copy.db", "--with-key", "--overwrite")
    assert (seeded / "copy.db.key").read_bytes() == (seeded / "secret.key").read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "tocsin.db",
        "tocsin.db-wal",
        "tocsin.worker.lock",
        "tocsin.worker.sock",
        "tocsin.hub.sock",
        "secret.key",
        "link.db",
        "hard.db",
        "sub/../tocsin.db-shm",
    ],
)
def test_a_backup_never_replaces_a_file_of_the_installation(run, seeded, name):
    (seeded / "sub").mkdir()
    (seeded / "link.db").symlink_to("tocsin.db")
    (seeded / "hard.db").hardlink_to(seeded / "secret.key")
    before = {path.name: path.read_bytes() for path in seeded.iterdir() if path.is_file()}
    for given in ([], ["--overwrite"], ["--overwrite", "--with-key"]):
        refused = run("backup", str(seeded / name), *given, code=5).stderr
        assert "is a file of the installation: name another file" in refused
    assert {path.name: path.read_bytes() for path in seeded.iterdir() if path.is_file()} == before


def test_two_backups_for_one_file_leave_each_other_alone(run, seeded, monkeypatch):
    verify = file.verify_database

    def verify_after_another(part: Path, *given: object, **more: object) -> object:
        monkeypatch.setattr(file, "verify_database", verify)
        run("backup", "copy.db")
        return verify(part, *given, **more)

    monkeypatch.setattr(file, "verify_database", verify_after_another)
    run("backup", "copy.db")
    assert parts(seeded) == []
    verify(seeded / "copy.db", seeded / "copy.db")


@pytest.mark.parametrize(("name", "given"), [("copy.db", ["copy.db"]), (BY_TIME, ["."])])
def test_parts_of_interrupted_backups_are_deleted_after_a_day(run, seeded, name, given):
    old, young = (seeded / f".{name}.{digit * 8}.part" for digit in "12")
    journal = old.with_name(f"{old.name}-journal")
    for path in (old, journal, young):
        path.touch()
    for path in (old, journal):
        os.utime(path, (0, 0))
    run("backup", *given)
    assert parts(seeded) == [young.name]


def test_two_backups_for_one_file_leave_the_key_private(run, seeded, monkeypatch):
    make_private = file_copy.make_private
    words = ("backup", "copy.db", "--with-key", "--overwrite")

    def make_private_before_another(part: Path) -> None:
        make_private(part)
        if ".key" in part.name:
            monkeypatch.setattr(file_copy, "make_private", make_private)
            run(*words)

    monkeypatch.setattr(file_copy, "make_private", make_private_before_another)
    run(*words)
    made = seeded / "copy.db.key"
    assert made.read_bytes() == (seeded / "secret.key").read_bytes()
    assert (stat.S_IMODE(made.stat().st_mode), parts(seeded)) == (0o600, [])


def test_a_copy_of_the_key_opens_a_backup_that_a_rotation_overtakes(run, seeded, monkeypatch):
    before, verify = secret(seeded), file.verify_database

    def verify_after_rotation(*given: object, **more: object) -> object:
        monkeypatch.setattr(file, "verify_database", verify)
        run("key", "rotate")
        return verify(*given, **more)

    monkeypatch.setattr(file, "verify_database", verify_after_rotation)
    run("backup", "copy.db", "--with-key")
    run("restore", "copy.db", "--data-dir", "other")
    assert secret(seeded / "other") == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_part_of_a_file(run, seeded, monkeypatch, number):
    run("backup", "copy.db")
    verify = file.verify_database

    def verify_after_signal(*given: object, **more: object) -> object:
        signal.raise_signal(number)
        return verify(*given, **more)

    monkeypatch.setattr(file, "verify_database", verify_after_signal)
    kept = signal.signal(number, lambda *_: None)
    try:
        for words in (["backup", "other.db"], ["restore", "copy.db"]):
            assert "Aborted!" in run(*words, code=1).stderr
            assert parts(seeded) == []
        assert not (seeded / "other.db").exists()
        signal.signal(number, signal.SIG_IGN)
        run("backup", "other.db")
    finally:
        signal.signal(number, kept)


@pytest.mark.parametrize("words", [["backup", "other.db"], ["restore", "copy.db"]])
def test_a_second_signal_leaves_no_part_of_a_file(run, seeded, monkeypatch, words):
    run("backup", "copy.db")
    verify, unlink = file.verify_database, Path.unlink

    def verify_after_signal(*given: object, **more: object) -> object:
        signal.raise_signal(signal.SIGTERM)
        return verify(*given, **more)

    def unlink_after_signal(path: Path, **more: bool) -> None:
        signal.raise_signal(signal.SIGINT)
        unlink(path, **more)

    monkeypatch.setattr(file, "verify_database", verify_after_signal)
    monkeypatch.setattr(Path, "unlink", unlink_after_signal)
    assert "Aborted!" in run(*words, code=1).stderr
    monkeypatch.setattr(Path, "unlink", unlink)
    assert parts(seeded) == []


def test_a_signal_interrupts_a_check(run, seeded, monkeypatch):
    ended: list[int] = []

    def checked(raw: sqlite3.Connection, **_: object) -> list[str]:
        # These functions run no Python code, in which a signal could be handled.
        raw.create_function("interrupt", 0, partial(_thread.interrupt_main, signal.SIGTERM))
        raw.create_function("ended", 1, ended.append)
        raw.execute(
            "SELECT interrupt(), (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c"
            " LIMIT 1000000) SELECT count(*) FROM c), ended(1)"
        ).fetchone()
        return []

    monkeypatch.setattr(file, "find_damage", checked)
    assert "Aborted!" in run("backup", "other.db", code=1).stderr
    assert (ended, parts(seeded)) == ([], [])


def test_a_backup_in_a_deleted_directory_is_refused(run, seeded, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    refused = run("backup", "copy.db", "--data-dir", seeded, code=4).stderr
    assert refused == "Error: the backup copy.db cannot be created: No such file or directory\n"


def test_a_backup_replaces_no_device(run, seeded):
    os.mkfifo(seeded / "pipe")
    (seeded / "copy.db.key").mkdir()
    for given in (["pipe"], ["copy.db", "--with-key"]):
        refused = run("backup", *given, "--overwrite", code=5).stderr
        assert "is no regular file: name another file" in refused
    assert (seeded / "pipe").is_fifo()
    assert not (seeded / "copy.db").exists()


@pytest.mark.parametrize("name", ["loop.db", "loop.db/copy.db"])
def test_links_that_lead_to_each_other_are_refused(run, seeded, name):
    (seeded / "loop.db").symlink_to("other.db")
    (seeded / "other.db").symlink_to("loop.db")
    refused = run("backup", str(seeded / name), "--overwrite", code=1).stderr
    assert f"the backup {seeded / name} cannot be created: Too many levels" in refused
    assert (seeded / "loop.db").is_symlink()


def test_a_backup_can_include_the_key(run, seeded):
    said = run("backup", "copy.db", "--with-key")
    assert "can read every secret" in said.stdout
    assert said.stderr == ""
    assert mode(seeded / "copy.db.key") == 0o600


def test_imported_repositories_are_named_as_left_out(run, seeded):
    (seeded / "git").mkdir()
    assert "copy the directory" not in run("backup", "one.db").stderr
    (seeded / "git" / "7.git").mkdir()
    assert f"copy the directory {seeded}/git too" in run("backup", "two.db").stderr


@pytest.mark.parametrize("given", [["copy.db.zst"], ["copy.db.zst", "--compress"]])
def test_a_backup_can_be_compressed(run, seeded, given):
    run("backup", *given)
    assert parts(seeded) == []
    content = zstd.decompress((seeded / "copy.db.zst").read_bytes())
    assert content.startswith(b"SQLite format 3\0")
    assert (seeded / "copy.db.zst").stat().st_size < len(content) / 2


def test_a_compressed_one_is_called_so(run, seeded):
    assert "copy.db.zst" in run("backup", "copy.db", "--compress", code=2).stderr
    run("backup", "--compress")
    (path,) = (seeded / "backups").iterdir()
    assert path.name.endswith(".db.zst")


def test_the_newest_are_kept(run, seeded):
    folder = seeded / "backups"
    folder.mkdir()
    for day in range(1, 5):
        for name in (f"tocsin-2026010{day}T000000Z.db", f"tocsin-2026010{day}T000000Z.db.key"):
            (folder / name).touch()
    (folder / "tocsin-important.db").touch()
    said = run("backup", folder, "--keep", 3).stdout
    assert said.count("removed") == 2
    left = sorted(path.name for path in folder.iterdir())
    new = next(name for name in left if "202601" not in name and "important" not in name)
    assert left == sorted(
        [
            "tocsin-20260103T000000Z.db", "tocsin-20260103T000000Z.db.key",
            "tocsin-20260104T000000Z.db", "tocsin-20260104T000000Z.db.key",
            "tocsin-important.db", new,
        ]
    )  # fmt: skip
    run("backup", "copy.db", "--keep", 3, code=2)
    run("backup", folder, "--keep", 0, code=2)


def test_a_directory_to_keep_backups_in_must_exist(run, seeded):
    reason = run("backup", "nowhere", "--keep", "3", "--compress", code=2).stderr
    assert "--keep needs a directory as FILE, and nowhere is missing: make it first" in reason
    (seeded / "notes").touch()
    assert "notes is a file" in run("backup", "notes", "--keep", "3", code=2).stderr
    for given in ([], ["--keep", "3"]):
        reason = run("backup", "nowhere/", *given, code=2).stderr
        assert "there is no directory nowhere/: make it first" in reason
    assert not (seeded / "nowhere").exists()


def test_the_backup_just_made_is_kept_if_the_clock_was_fast(run, seeded):
    folder = seeded / "backups"
    folder.mkdir()
    for year in (2000, 2998, 2999):
        (folder / f"tocsin-{year}0101T000000Z.db").touch()
    run("backup", "--keep", 2)
    left = [path.name[:11] for path in sorted(folder.iterdir())]
    assert left == ["tocsin-2000", f"tocsin-{datetime.now(UTC):%Y}"]


def test_a_full_disk_refuses_a_backup(run, seeded, monkeypatch):
    usage = shutil.disk_usage(seeded)
    monkeypatch.setattr(backup.shutil, "disk_usage", lambda path: usage._replace(free=1 << 20))
    assert "make room" in run("backup", "copy.db", code=6).stderr
    assert not (seeded / "copy.db").exists()


def test_a_copy_that_is_damaged_is_none(run, seeded, monkeypatch):
    real = file_copy.copy_database

    def damaging(path, target, on_progress=None):
        real(path, target, on_progress)
        target.with_name(f"{target.name}-journal").touch()
        with target.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * 8192)

    monkeypatch.setattr(file_copy, "copy_database", damaging)
    assert "copy.db" in run("backup", "copy.db", code=1).stderr
    assert not (seeded / "copy.db").exists()
    assert parts(seeded) == []


def test_a_damaged_index_refuses_a_backup(run, seeded):
    """A restore would refuse the backup."""
    damage_index(seeded / "tocsin.db")
    refused = run("backup", "copy.db", code=1).stderr
    assert "copy.db is damaged: " in refused
    assert "missing from index sqlite_autoindex_account_1" in refused
    assert not (seeded / "copy.db").exists()
    assert parts(seeded) == []


def test_a_backup_is_made_of_a_database_that_cannot_be_written(run, listed, seeded, monkeypatch):
    def refused(*args):
        raise Full("there is no room to write")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "write_sync", refused)
        done = run("backup", "copy.db")
    assert "copy.db: " in done.stdout
    assert "the audit log has no entry of this backup: there is no room" in done.stderr
    assert (seeded / "copy.db").exists()
    assert listed("audit", "list") == []


def test_a_backup_is_in_the_audit_log(run, listed, seeded):
    run("backup", "copy.db")
    (row,) = listed("audit", "list")
    size = (seeded / "copy.db").stat().st_size
    assert (row["what"], row["on"]) == ("tocsin backup", "copy.db")
    assert row["more"] == {"file": "copy.db", "bytes": size, "events": 3}


@pytest.mark.parametrize("command", [["backup"], ["backup", "x"], ["restore", "x"]])
def test_another_engine_has_its_own_tools(run, command):
    said = run(*command, "--store", "postgresql://ada:hush@host/db", code=3).stderr
    assert "pg_" in said
    assert "hush" not in said


def test_there_is_nothing_to_back_up(run, fresh):
    assert "there is no database" in run("backup", code=4).stderr


# Restoring.


def test_a_restore_brings_back_the_state_of_the_backup(run, seeded):
    run("backup", "copy.db")
    with opened(seeded) as store:
        store.write_sync(accounts.create, "bob")
    (seeded / "tocsin.db").chmod(0o644)
    said = run("restore", "copy.db").stdout
    assert "3 events" in said
    assert logins(seeded) == ["ada"]
    assert secret(seeded) == "hush"
    (aside,) = seeded.glob("tocsin.replaced-*.db")
    assert str(aside) in said
    with closing(sqlite3.connect(aside)) as raw:
        assert raw.execute("SELECT count(*) FROM account").fetchone() == (2,)
    assert mode(seeded / "tocsin.db") == mode(aside) == 0o600
    assert parts(seeded) == []


def test_no_id_is_given_again_after_a_restore(run, seeded):
    """Programs may still use the ids that were given after the backup."""
    run("backup", "copy.db")
    with opened(seeded) as store:
        bob = store.write_sync(accounts.create, "bob")
        lease_id = store.write_sync(leases.acquire, "tests", 1)
    crash(seeded)
    run("restore", "copy.db")
    assert logins(seeded) == ["ada"]
    with opened(seeded) as store:
        assert store.write_sync(accounts.create, "eve")["id"] == bob["id"] + 1
        assert store.write_sync(leases.acquire, "tests", 1) == lease_id + 1


@pytest.mark.parametrize("given", [2**63 - 1, "'many'", "x'00'"])
def test_a_damaged_database_names_no_id(run, seeded, given):
    run("backup", "copy.db")
    altered(seeded / "tocsin.db", f"UPDATE sqlite_sequence SET seq = {given}")
    run("restore", "copy.db")
    with opened(seeded) as store:
        assert store.write_sync(accounts.create, "eve")["id"] == 2


@pytest.mark.parametrize("name", ["copy.db", "copy.db.zst"])
def test_a_backup_is_restored_on_another_machine(run, seeded, monkeypatch, name):
    run("backup", name, "--with-key")
    there = seeded / "there"
    monkeypatch.setenv("TOCSIN_DATA_DIR", str(there))
    said = run("restore", name).stdout
    assert "the key that came with the backup" in said
    assert mode(there) == 0o700
    assert mode(there / "secret.key") == 0o600
    assert secret(there) == "hush"


def test_a_restore_is_in_the_restored_audit_log(run, listed, seeded):
    run("backup", "copy.db")
    run("restore", "copy.db")
    (row,) = listed("audit", "list")
    assert (row["what"], row["on"], row["more"]) == ("tocsin restore", "copy.db", {"events": 3})
    run("audit", "verify")


def test_a_restore_beside_a_daemon_is_refused(run, seeded):
    run("backup", "copy.db")
    with opened(seeded) as store:
        store.write_sync(accounts.create, "bob")
        assert "stop tocsin first" in run("restore", "copy.db", code=5).stderr
    assert logins(seeded) == ["ada", "bob"]
    assert list(seeded.glob("tocsin.replaced-*")) == []


def test_commands_during_a_restore_are_refused(run, seeded, monkeypatch):
    run("backup", "copy.db")
    real, said = restoring.replace_database, []

    def meanwhile(*args):
        said.append(run("status", code=5).stderr)
        return real(*args)

    monkeypatch.setattr(restoring, "replace_database", meanwhile)
    run("restore", "copy.db")
    assert "is being restored" in said[0]
    run("status")


def damaged(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 4096)


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


@pytest.mark.parametrize("name", ["copy.db", "copy.db.zst"])
@pytest.mark.parametrize("spoil", [damaged, cut])
def test_a_damaged_backup_is_refused(run, seeded, name, spoil):
    run("backup", name)
    spoil(seeded / name)
    assert name.removesuffix(".zst") in run("restore", name, code=1).stderr
    assert logins(seeded) == ["ada"]
    assert list(seeded.glob("tocsin.replaced-*")) == []
    assert parts(seeded) == []


def altered(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        for sql in statements:
            raw.execute(sql)


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        (["INSERT INTO migration VALUES (99999, 'later.sql', 0)"], "step 99999 and this program"),
        (["INSERT INTO migration VALUES (1000000, 'moved away', 0)"], "moved away"),
        (["UPDATE migration SET name = '0001_schema.sql' WHERE number = 1"], "another version"),
        (["PRAGMA foreign_keys = OFF", "DELETE FROM account"], "refers to a row of account"),
        (["PRAGMA foreign_keys = OFF", "DROP TABLE event"], "no database of tocsin's"),
    ],
)
def test_an_unusable_backup_is_refused(run, seeded, statements, reason):
    run("backup", "copy.db")
    altered(seeded / "copy.db", *statements)
    assert reason in run("restore", "copy.db", code=1).stderr
    assert logins(seeded) == ["ada"]


def test_a_file_that_is_no_backup_is_refused(run, seeded):
    (seeded / "notes.txt").write_text("somebody's notes " * 1000)
    assert "cannot be read" in run("restore", "notes.txt", code=1).stderr
    (seeded / "empty").touch()
    assert "no database of tocsin's" in run("restore", "empty", code=1).stderr
    assert "there is no backup" in run("restore", "nothing", code=4).stderr
    shutil.copy(seeded / "tocsin.db", seeded / "raw.db")
    (seeded / "raw.db-wal").write_text("more")
    assert "was not closed, and no backup" in run("restore", "raw.db", code=1).stderr
    assert logins(seeded) == ["ada"]


def test_a_backup_with_another_key_is_refused(run, seeded):
    run("backup", "copy.db", "--with-key")
    run("backup", "alone.db")
    old = (seeded / "secret.key").read_bytes()
    (seeded / "secret.key").write_bytes(Fernet.generate_key() + b"\n")
    (seeded / "tocsin.db").unlink()
    said = run("restore", "alone.db", code=1).stderr
    assert "hook.secret" in said
    assert "with --key" in said
    assert not (seeded / "tocsin.db").exists()
    new = (seeded / "secret.key").read_bytes()
    said = run("restore", "alone.db", "--key", "copy.db.key").stdout
    assert "tocsin key rotate" in said
    assert (seeded / "secret.key").read_bytes() == new + old
    assert secret(seeded) == "hush"


def test_a_backup_without_any_key_is_refused(run, seeded):
    run("backup", "copy.db")
    (seeded / "secret.key").unlink()
    assert "there is no key file" in run("restore", "copy.db", code=1).stderr
    other = seeded / "other.key"
    other.write_bytes(Fernet.generate_key())
    assert "hook.secret" in run("restore", "copy.db", "--key", other, code=1).stderr
    assert not (seeded / "secret.key").exists()


def test_a_backup_of_an_older_program_is_upgraded_at_the_start(run, seeded, monkeypatch):
    known = migrations.steps()
    engine = SqliteEngine(seeded / "old.db", Vault([Fernet.generate_key()]), no_notifier)
    with closing(engine), closing(engine.session()) as session:
        migrations.migrate(session, 0, engine.words)
    newer = (known[-1][0] + 1, "9001_more.sql", "CREATE TABLE more (id {id})")
    monkeypatch.setattr(migrations, "steps", lambda: [*known, newer])
    run("restore", "old.db")
    assert logins(seeded) == []
    with opened(seeded) as store:
        assert store.read_sync(lambda db: db.value("SELECT count(*) FROM more")) == 0


def test_a_database_that_is_damaged_is_put_aside_with_its_log(run, seeded):
    run("backup", "copy.db")
    damaged_content = b"not a database " * 1000
    (seeded / "tocsin.db").write_bytes(damaged_content)
    (seeded / "tocsin.db-wal").write_bytes(b"its log")
    run("restore", "copy.db")
    (aside,) = seeded.glob("tocsin.replaced-*.db")
    assert aside.read_bytes() == damaged_content
    assert aside.with_name(aside.name + "-wal").read_bytes() == b"its log"
    assert secret(seeded) == "hush"


@pytest.mark.parametrize("lose", [Path.unlink, partial(os.truncate, length=0)])
def test_the_log_of_a_lost_database_is_put_aside(run, seeded, lose):
    run("backup", "copy.db")
    crash(seeded)
    lose(seeded / "tocsin.db")
    log = (seeded / "tocsin.db-wal").read_bytes()
    run("restore", "copy.db")
    (aside,) = seeded.glob("tocsin.replaced-*.db-wal")
    assert aside.read_bytes() == log
    assert "late" not in run("sql", ".tables").stdout
    assert secret(seeded) == "hush"


def test_a_restore_follows_no_link_of_its_daemon(run, seeded):
    """Root restores into the folder of a user, who must not choose what root overwrites."""
    run("backup", "copy.db")
    (seeded / "others.txt").write_text("mine")
    (seeded / ".tocsin.db.restoring").symlink_to("others.txt")
    run("restore", "copy.db")
    assert (seeded / "others.txt").read_text() == "mine"
    assert not (seeded / "tocsin.db").is_symlink()
    assert secret(seeded) == "hush"


def crash(data_dir: Path) -> None:
    """Leave a database whose last change is in its log alone."""
    database, whole = data_dir / "tocsin.db", data_dir / "whole"
    whole.mkdir()
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA wal_checkpoint")
        db.execute("CREATE TABLE late (text TEXT)")
        db.execute("INSERT INTO late VALUES ('kept')")
        db.commit()
        for path in data_dir.glob("tocsin.db*"):
            shutil.copy(path, whole)
    for path in whole.iterdir():
        path.replace(data_dir / path.name)
    whole.rmdir()


def test_a_restore_leaves_out_the_log_of_an_interrupted_one(run, seeded):
    run("backup", "copy.db")
    crash(seeded)
    shutil.copy(seeded / "tocsin.db-wal", seeded / ".tocsin.db.restoring-wal")
    (seeded / ".tocsin.db.restoring-journal").touch()
    run("restore", "copy.db")
    assert "late" not in run("sql", ".tables").stdout
    assert secret(seeded) == "hush"
    assert parts(seeded) == list(seeded.glob("*restoring*")) == []


def test_a_full_disk_refuses_a_restore(run, seeded, monkeypatch):
    run("backup", "copy.db")

    def refused(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(restoring.shutil, "copyfileobj", refused)
        reason = run("restore", "copy.db", code=6).stderr
    assert f"copy.db cannot be copied to {seeded}: No space left on device" in reason

    def full(*args):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(restoring, "SqliteSession", full)
    reason = run("restore", "copy.db", code=6).stderr
    assert reason.endswith(".restoring: database or disk is full\n")
    assert parts(seeded) == []


def test_a_restore_works_without_hard_links(run, seeded, monkeypatch):
    run("backup", "copy.db")

    def refused(*args):
        raise PermissionError(1, "Operation not permitted")

    crash(seeded)
    monkeypatch.setattr(restoring.os, "link", refused)
    run("restore", "copy.db")
    (aside,) = seeded.glob("tocsin.replaced-*.db")
    assert list(seeded.glob("tocsin.replaced-*.db-*")) == []
    with closing(sqlite3.connect(aside)) as db:
        assert db.execute("SELECT text FROM late").fetchall() == [("kept",)]
    assert secret(seeded) == "hush"
