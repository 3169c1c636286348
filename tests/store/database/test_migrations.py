"""Migrations: each step runs once and is recorded, and a failed upgrade changes nothing."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from engines import ENGINES, nothing_yet
from store_world import World

from store import Connection, Store, open_store
from store.accounts import accounts
from store.clock import MovableClock
from store.crypto.key_file import create_key_file
from store.database import migrations
from store.errors import Absent, Outdated, StoreError, Unprepared, Unusable

Opened = Callable[[], Store]


def recorded(db: Connection) -> list[tuple[int, str, int]]:
    return list(db.tuples("SELECT number, name, applied_at FROM migration ORDER BY number"))


def with_steps(monkeypatch: pytest.MonkeyPatch, *more: tuple[int, str, str]) -> None:
    known = migrations.steps()
    monkeypatch.setattr(migrations, "steps", lambda: [*known, *more])


def test_every_step_has_a_number_of_its_own() -> None:
    steps = migrations.steps()
    numbers = [number for number, _, _ in steps]
    assert numbers == sorted(set(numbers))
    assert all(name.startswith(f"{number:04d}_") for number, name, _ in steps)
    files = [path.name for path in Path(migrations.__file__).parent.glob("*.sql")]
    assert sorted(files) == [name for _, name, _ in steps]


def test_a_fresh_database_records_every_step(store: Store) -> None:
    assert [(number, name) for number, name, _ in store.read_sync(recorded)] == [
        (number, migrations.recorded_name(name, sql)) for number, name, sql in migrations.steps()
    ]


def test_opening_again_changes_nothing(opened: Opened, clock: MovableClock) -> None:
    store = opened()
    store.write_sync(accounts.create, "ada")
    before = store.read_sync(recorded)
    clock.advance(60)
    again = opened()
    assert again.read_sync(recorded) == before
    assert [row["login"] for row in again.read_sync(accounts.list_all)] == ["ada"]


def test_new_steps_are_applied_to_an_existing_database(
    opened: Opened, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = opened().read_sync(recorded)
    clock.advance(60)
    last = before[-1][0]
    more = ("9001_more.sql", "CREATE TABLE more (id {id}, what {blob}); -- a; b")
    again = ("9002_again.sql", "INSERT INTO more (what) VALUES (NULL)")
    with_steps(monkeypatch, (last + 1, *more), (last + 2, *again))
    store = opened()
    assert store.read_sync(recorded) == [
        *before,
        (last + 1, migrations.recorded_name(*more), clock.now()),
        (last + 2, migrations.recorded_name(*again), clock.now()),
    ]
    assert store.read_sync(lambda db: db.all("SELECT id, what FROM more")) == [
        {"id": 1, "what": None}
    ]


def test_a_newer_database_is_refused_and_left_alone(opened: Opened) -> None:
    store = opened()
    known = migrations.steps()[-1][0]
    store.write_sync(
        lambda db: db.execute(
            "INSERT INTO migration (number, name, applied_at) VALUES (:number, 'later.sql', 0)",
            number=known + 5,
        )
    )
    with pytest.raises(Unusable) as caught:
        opened()
    said = str(caught.value)
    assert f"step {known + 5}" in said
    assert f"knows {known}" in said
    assert "newer tocsin" in said
    assert len(store.read_sync(recorded)) == len(migrations.steps()) + 1


def test_a_database_with_other_tables_is_refused_and_left_alone(
    opened: Opened, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A schema that changed in place has the number of the former one."""
    before = opened().read_sync(recorded)
    (number, name, sql), *later = migrations.steps()
    monkeypatch.setattr(migrations, "steps", lambda: [(number, name, f"{sql}\n-- more"), *later])
    opened()
    monkeypatch.setattr(migrations, "steps", lambda: [(number, name, f"{sql}; SELECT 1"), *later])
    for create in (True, False):
        with pytest.raises(Unusable, match="another version of tocsin has made the database"):
            open_store(url, data_dir=tmp_path / "data", create=create)
    monkeypatch.undo()
    assert opened().read_sync(recorded) == before


def test_a_database_of_the_first_release_is_refused_in_one_line_and_left_alone(
    opened: Opened, url: str, tmp_path: Path
) -> None:
    """Version 0.1.0 recorded its step by the file's name alone."""
    store = opened()
    store.write_sync(
        lambda db: db.execute("UPDATE migration SET name = '0001_schema.sql' WHERE number = 1")
    )
    before = store.read_sync(recorded)
    for create in (True, False):
        with pytest.raises(Unusable) as caught:
            open_store(url, data_dir=tmp_path / "data", create=create)
        assert str(caught.value) == (
            "another version of tocsin has made the database, with other tables than this version"
            " needs (step 1). Start that version, or let `store` name a new database"
        )
    assert store.read_sync(recorded) == before


def test_a_command_does_not_migrate_under_a_daemon(
    opened: Opened, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = opened().read_sync(recorded)
    last = before[-1][0]
    with_steps(monkeypatch, (last + 1, "9001_more.sql", "CREATE TABLE more (id {id})"))
    for _ in range(2):
        with pytest.raises(Unprepared, match=f"at step {last}, .* needs step {last + 1}: restart"):
            open_store(url, data_dir=tmp_path / "data", create=False)
    monkeypatch.undo()
    assert opened().read_sync(recorded) == before


def test_a_worker_makes_tables_and_does_not_migrate_under_a_hub(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "data"
    store = open_store(url, data_dir=place, upgrade=False)
    before = store.read_sync(recorded)
    last = before[-1][0]
    with_steps(monkeypatch, (last + 1, "9001_more.sql", "CREATE TABLE more (id {id})"))
    with pytest.raises(Outdated, match="The start of the hub upgrades the database"):
        open_store(url, data_dir=place, upgrade=False)
    assert store.read_sync(recorded) == before
    open_store(url, data_dir=place).shut()
    open_store(url, data_dir=place, upgrade=False).shut()
    assert len(store.read_sync(recorded)) == len(before) + 1
    store.shut()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_command_makes_no_tables(engine: str, tmp_path: Path) -> None:
    create_key_file(tmp_path / "secret.key")
    with nothing_yet(engine) as url:
        place = f"sqlite://{tmp_path}/other.db" if url == "sqlite" else url
        with closing(sqlite3.connect(tmp_path / "other.db")) as other:
            other.execute("CREATE TABLE bookmark (url TEXT)")
        for _ in range(2):
            with pytest.raises(Absent, match="no tables of tocsin: `tocsin serve` makes them"):
                open_store(place, data_dir=tmp_path, create=False)


def test_a_failing_step_leaves_nothing(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened()
    before = store.read_sync(recorded)
    last = before[-1][0]
    with_steps(
        monkeypatch,
        (last + 1, "9001_good.sql", "CREATE TABLE good (id {id})"),
        (last + 2, "9002_half.sql", "CREATE TABLE half (id {id}); DELETE FROM nowhere"),
    )
    with pytest.raises(Exception, match="nowhere"):
        opened()
    assert store.read_sync(recorded) == before
    for table in ("good", "half"):
        with pytest.raises(Exception, match=table):
            store.read_sync(lambda db, table=table: db.value(f"SELECT count(*) FROM {table}"))
    monkeypatch.undo()
    assert opened().read_sync(recorded) == before


@pytest.mark.parametrize("engine", ENGINES)
def test_programs_that_start_at_once_migrate_once(engine: str, tmp_path: Path) -> None:
    with nothing_yet(engine) as url, ThreadPoolExecutor(4) as threads:
        stores = list(threads.map(lambda _: open_store(url, data_dir=tmp_path), range(4)))
        assert len(stores[0].read_sync(recorded)) == len(migrations.steps())
        for store in stores:
            store.shut()


def test_ids_are_not_given_twice(world: World) -> None:
    """Other rows still refer to leases, hooks and events by their ids after these are deleted."""
    first = world.lease()
    world.store.write_sync(lambda db: db.execute("DELETE FROM lease WHERE id = :id", id=first))
    assert world.lease() > first
    hook = world.hook()
    world.store.write_sync(lambda db: db.execute("DELETE FROM hook WHERE id = :id", id=hook["id"]))
    assert world.hook()["id"] > hook["id"]
    event = world.arrive("g-1").event_id
    world.store.write_sync(lambda db: db.execute("DELETE FROM event WHERE id = :id", id=event))
    assert world.arrive("g-2").event_id > event


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_texts_are_in_the_order_of_their_bytes_with_any_locale(store: Store) -> None:
    others = (
        "SELECT DISTINCT table_name FROM information_schema.columns"
        " WHERE table_schema = current_schema() AND data_type = 'text'"
        " AND collation_name IS DISTINCT FROM 'C'"
    )
    assert store.read_sync(lambda db: db.tuples(others)) == [("migration",)]


@pytest.mark.parametrize("url", ["mysql://host/db", "sqlite3", "", "sqlite:relative.db"])
def test_an_unknown_kind_of_database_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(Unusable, match="use sqlite"):
        open_store(url, data_dir=tmp_path)


def test_every_refusal_to_open_is_the_stores_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for data_dir in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match="file"):
            open_store("sqlite", data_dir=data_dir)
