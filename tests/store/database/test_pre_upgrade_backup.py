"""Before an upgrade changes a SQLite file, the file is copied."""

import sqlite3
from pathlib import Path

import pytest

from store import Store, open_store
from store.accounts import accounts
from store.clock import DAY, MovableClock
from store.crypto import file_copy
from store.database import migrations
from store.database.sqlite import pre_upgrade_backup
from store.errors import Unusable

BROKEN = "INSERT INTO nowhere (what) VALUES (1)"


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


def opened(folder: Path, clock: MovableClock) -> Store:
    return open_store("sqlite", data_dir=folder, clock=clock)


def used(folder: Path, clock: MovableClock) -> None:
    """Create a database with the account `ada`."""
    store = opened(folder, clock)
    store.write_sync(accounts.create, "ada")
    store.shut()


def upgrade(monkeypatch: pytest.MonkeyPatch, sql: str = "CREATE TABLE {name} (id {{id}})") -> None:
    """Add a migration step to the program."""
    known = migrations.steps()
    number = known[-1][0] + 1
    step = (number, f"{number}_more.sql", sql.format(name=f"more_{number}"))
    monkeypatch.setattr(migrations, "steps", lambda: [*known, step])


def copies(folder: Path) -> list[Path]:
    return pre_upgrade_backup.copies(folder / "tocsin.db")


def test_a_new_database_and_one_that_is_up_to_date_are_not_copied(
    tmp_path: Path, clock: MovableClock
) -> None:
    used(tmp_path, clock)
    opened(tmp_path, clock).shut()
    assert copies(tmp_path) == []


def test_the_copy_is_the_database_before_the_upgrade(
    tmp_path: Path, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    used(tmp_path, clock)
    step = migrations.steps()[-1][0]
    upgrade(monkeypatch)
    opened(tmp_path, clock).shut()
    (copy,) = copies(tmp_path)
    assert f"-{step:04}-" in copy.name
    assert copy.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.glob("*.part")) == []
    with sqlite3.connect(copy) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT max(number) FROM migration").fetchone() == (step,)
        assert db.execute("SELECT login FROM account").fetchall() == [("ada",)]
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    db.close()


def test_a_copy_has_the_last_commit_of_another_process(
    tmp_path: Path, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = opened(tmp_path, clock)
    beside.write_sync(accounts.create, "bob")
    upgrade(monkeypatch)
    opened(tmp_path, clock).shut()
    beside.shut()
    with sqlite3.connect(copies(tmp_path)[0]) as db:
        assert db.execute("SELECT login FROM account").fetchall() == [("bob",)]
    db.close()


def test_the_last_few_are_kept(
    tmp_path: Path, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    used(tmp_path, clock)
    first = migrations.steps()[-1][0]
    for _ in range(5):
        clock.advance(60)
        upgrade(monkeypatch)
        opened(tmp_path, clock).shut()
    kept = [int(path.name.split("-")[2]) for path in copies(tmp_path)]
    assert kept == [first + 2, first + 3, first + 4]


def test_the_copy_just_made_is_kept_if_others_have_later_steps_and_times(
    tmp_path: Path, clock: MovableClock
) -> None:
    used(tmp_path, clock)
    database, now = tmp_path / "tocsin.db", clock.now()
    for step in (7, 8, 9):
        pre_upgrade_backup.create_backup(database, step, now + step * DAY)
    made = pre_upgrade_backup.create_backup(database, 5, now)
    assert [int(path.name.split("-")[2]) for path in copies(tmp_path)] == [5, 8, 9]
    assert made.is_file()


def test_an_interrupted_copy_is_removed_by_the_next_one(
    tmp_path: Path, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    used(tmp_path, clock)

    def killed(path: Path, target: Path) -> None:
        target.write_bytes(b"a part of the copy")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        upgrade(patched)
        patched.setattr(file_copy, "copy_database", killed)
        with pytest.raises(KeyboardInterrupt):
            opened(tmp_path, clock)
    assert len(list(tmp_path.glob("*.part"))) == 1
    clock.advance(60)
    upgrade(monkeypatch)
    opened(tmp_path, clock).shut()
    assert list(tmp_path.glob("*.part")) == []
    assert len(copies(tmp_path)) == 1


def test_an_upgrade_that_fails_leaves_all_as_it_was_and_a_copy(
    tmp_path: Path, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    used(tmp_path, clock)
    with monkeypatch.context() as patched:
        upgrade(patched, BROKEN)
        with pytest.raises(sqlite3.OperationalError):
            opened(tmp_path, clock)
    assert len(copies(tmp_path)) == 1
    store = opened(tmp_path, clock)
    assert [row["login"] for row in store.read_sync(accounts.list_all)] == ["ada"]
    store.shut()


def test_without_a_copy_there_is_no_upgrade(
    tmp_path: Path, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    used(tmp_path, clock)

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        upgrade(patched)
        patched.setattr(file_copy, "copy_database", full)
        with pytest.raises(Unusable, match=r"cannot be copied first: .*No space left"):
            opened(tmp_path, clock)
    assert list(tmp_path.glob("*.part")) == []
    opened(tmp_path, clock).shut()
    assert copies(tmp_path) == []
