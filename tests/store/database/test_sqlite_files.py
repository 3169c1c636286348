"""The SQLite file that tests use in turn: each test finds it as if it were new."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from engines import ENGINES, engine_url, open_furnished

from store import Store
from store.accounts import accounts
from store.database.connection import Connection
from store.database.sqlite.engine import SqliteEngine
from store.database.sqlite.open_files import acquire_shared_lock
from store.errors import Unavailable
from store.repositories import repositories

Use = Callable[[Store], object]


def used_twice(folders: Path, first: Use) -> bool:
    """Let a test use the file, and check it in another. Return whether both have the same one."""
    with engine_url(ENGINES[0]) as url:
        store = open_furnished(url, folders / "first")
        add(store)
        first(store)
        store.shut()
    with engine_url(ENGINES[0]) as again:
        store = open_furnished(again, folders / "second")
        assert store.read_sync(names) == []
        assert store.read_sync(tables) == before_any_test(folders)
        assert store.write_sync(accounts.create, "ada")["id"] == 1
        assert [path.name for path in place(store).iterdir() if "lock" in path.name] == []
        store.shut()
    return url == again


def before_any_test(folders: Path) -> list[str]:
    fresh = open_furnished("sqlite", folders / "fresh")
    found = fresh.read_sync(tables)
    fresh.shut()
    return found


def names(db: Connection) -> list[str]:
    return [login for (login,) in db.tuples("SELECT login FROM account")]


def tables(db: Connection) -> list[str]:
    return [sql for (sql,) in db.tuples("SELECT sql FROM sqlite_master ORDER BY name")]


def place(store: Store) -> Path:
    assert isinstance(store.engine, SqliteEngine)
    return store.engine.path.parent


def add(store: Store, name: str = "eve") -> None:
    store.write_sync(accounts.create, name)


def test_rows_ids_and_locks_are_gone(tmp_path: Path) -> None:
    def first(store: Store) -> None:
        other = open_furnished(f"sqlite://{place(store)}/tocsin.db", tmp_path / "first")
        add(other, "bob")
        assert store.read_sync(names) == other.read_sync(names) == ["eve", "bob"]
        assert store.engine.acquire_worker_lock()
        other.shut()

    assert used_twice(tmp_path, first)


def test_rows_beside_the_log_are_gone(tmp_path: Path) -> None:
    def first(store: Store) -> None:
        with closing(sqlite3.connect(place(store) / "tocsin.db")) as raw:
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        add(store, "bob")

    assert used_twice(tmp_path, first)


def test_a_file_that_has_grown_is_as_small_as_before(tmp_path: Path) -> None:
    grown: list[tuple[Path, int]] = []

    def first(store: Store) -> None:
        path = place(store) / "tocsin.db"
        store.write_sync(lambda db: db.execute("UPDATE account SET name = zeroblob(1000000)"))
        with closing(sqlite3.connect(path)) as raw:
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        grown.append((path, path.stat().st_size))

    assert used_twice(tmp_path, first)
    [(path, size)] = grown
    assert path.stat().st_size < size - 900_000


def change_the_schema(store: Store) -> None:
    store.write_sync(lambda db: db.execute("CREATE TABLE more (id INTEGER)"))


def replace_the_file(store: Store) -> None:
    path = place(store) / "tocsin.db"
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


@pytest.mark.parametrize("first", [change_the_schema, replace_the_file])
def test_a_file_that_was_changed_otherwise_is_not_used_again(tmp_path: Path, first: Use) -> None:
    assert not used_twice(tmp_path, first)


def test_a_file_that_is_still_open_is_not_used_again(tmp_path: Path) -> None:
    left: list[Store] = []

    def first(store: Store) -> None:
        left.append(open_furnished(f"sqlite://{place(store)}/tocsin.db", tmp_path / "first"))
        add(left[0], "bob")

    assert not used_twice(tmp_path, first)
    left[0].shut()


def test_a_file_that_another_process_has_open_is_not_used_again(tmp_path: Path) -> None:
    held: list[int] = []
    assert not used_twice(
        tmp_path, lambda store: held.append(acquire_shared_lock(place(store) / "tocsin.db"))
    )
    os.close(held[0])


def test_a_closed_session_cannot_be_used(tmp_path: Path) -> None:
    with engine_url(ENGINES[0]) as url:
        store = open_furnished(url, tmp_path)
        with store.borrow_session() as session:
            pass
        store.shut()
        with pytest.raises(sqlite3.ProgrammingError):
            session.control("SELECT 1")


def test_a_session_checks_references_and_only_writes_when_it_may(tmp_path: Path) -> None:
    for name in ("first", "second"):  # Both have the same connections.
        with engine_url(ENGINES[0]) as url:
            store = open_furnished(url, tmp_path / name)
            for _ in range(2):
                with pytest.raises(sqlite3.IntegrityError):
                    store.write_sync(repositories.create, 99, "engine")
                with pytest.raises(Unavailable, match="readonly"):
                    store.read_sync(lambda db: db.execute("DELETE FROM account"))
            store.shut()
