"""Copies of a SQLite database: a copy shows one moment, and concurrent writes go on."""

import fcntl
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from store_world import World, make_world

from store import open_store
from store.clock import MovableClock
from store.crypto import file_copy
from store.database.sqlite import open_files
from store.errors import Conflict, Unusable


@pytest.fixture
def world(tmp_path: Path, clock: MovableClock) -> World:
    store = open_store("sqlite", data_dir=tmp_path / "data", clock=clock)
    return make_world(store, clock)


def guids(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {row[0] for row in raw.execute("SELECT guid FROM event")}


def test_a_copy_leaves_out_later_writes(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_copy, "PAGES", 3)
    before = {f"before-{number}" for number in range(50)}
    for guid in before:
        world.arrive(guid)
    progress: list[tuple[int, int]] = []

    def meanwhile(done: int, total: int) -> None:
        progress.append((done, total))
        if len(progress) < 40:
            world.arrive(f"meanwhile-{len(progress)}")

    file_copy.copy_database(tmp_path / "data" / "tocsin.db", tmp_path / "copy.db", meanwhile)
    assert guids(tmp_path / "copy.db") == before
    assert len({total for _, total in progress}) == 1, "the copy was restarted"
    assert [done for done, _ in progress] == sorted(done for done, _ in progress)
    assert progress[-1][0] == progress[-1][1]
    assert not list(tmp_path.glob("copy.db-*"))
    world.store.shut()


# Processes that have the database open.


def test_an_open_database_cannot_be_locked(tmp_path: Path) -> None:
    database = tmp_path / "tocsin.db"
    first, second = (open_store("sqlite", data_dir=tmp_path) for _ in range(2))
    for store in (first, second):
        with pytest.raises(Conflict, match="stop tocsin first, hub and worker"):
            alone(database)
        store.shut()
    alone(database)


def alone(database: Path) -> None:
    with open_files.exclusive_lock(database):
        pass


def test_a_locked_database_cannot_be_opened(tmp_path: Path) -> None:
    open_store("sqlite", data_dir=tmp_path).shut()
    with open_files.exclusive_lock(tmp_path / "tocsin.db"):
        with pytest.raises(Unusable, match="is being restored"):
            open_store("sqlite", data_dir=tmp_path)
        with pytest.raises(Conflict):
            alone(tmp_path / "tocsin.db")
    open_store("sqlite", data_dir=tmp_path).shut()


def test_a_worker_of_an_older_program_is_noticed(tmp_path: Path) -> None:
    """Such a worker holds only the worker's lock."""
    open_store("sqlite", data_dir=tmp_path).shut()
    database = tmp_path / "tocsin.db"
    assert not open_files.is_worker_running(database)
    with open_files.worker_lock_path(database).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert open_files.is_worker_running(database)
        with pytest.raises(Conflict):
            alone(database)
    assert not open_files.is_worker_running(database)
    alone(database)
