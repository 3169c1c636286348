"""Migration from SQLite to PostgreSQL: everything arrives, despite changes and interruptions."""

import contextlib
import itertools
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from engines import no_syncs, prepare_database
from long_texts import incompressible
from moving_world import (
    REBUILT,
    Bustle,
    Load,
    contents,
    execute,
    fill_all,
    on_target,
    same,
    settled,
    with_bytes,
)
from postgres_databases import database
from psycopg.conninfo import conninfo_to_dict
from store_world import World, make_world

from store import Connection, Store, open_store
from store.accounts import logins
from store.audit import audit_check, audit_log
from store.clock import DAY, HOUR, MINUTE, SECOND, MovableClock
from store.delivery.outcomes.attempt_outcomes import record
from store.errors import Conflict, StoreError, Unavailable, Unusable
from store.pg_migration import comparison, source, target_connection
from store.pg_migration import mover as moving_copy
from store.pg_migration.pg_migration import Mover, mover
from store.pg_migration.source import SqliteSource
from store.pg_migration.tables import STAYS, Collision
from store.pg_migration.target_connection import TargetConnection
from store.pull import pull_leases
from store.pull.pull_leases import NewLease

Moving = Callable[[], AbstractContextManager[Mover]]
SEEDS = range(3)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make migrations fast: without syncs, with portions of three rows, and with one pass.

    On a slow machine, a pass may bring more changes than it copies. Without a larger `QUICK`, more
    passes would follow.
    """
    monkeypatch.setattr(source, "ROWS", 3)
    monkeypatch.setattr(moving_copy, "QUICK", 3600.0)
    for module, patience in ((moving_copy, "LINGERS"), (target_connection, "PATIENCE")):
        monkeypatch.setattr(module, patience, 30.0)
    with no_syncs():
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def store(folder: Path, clock: MovableClock) -> Iterator[Store]:
    """The store of the installation that is moved, which its daemon would have open."""
    prepare_database("sqlite", folder)
    opened = open_store("sqlite", data_dir=folder, clock=clock)
    yield opened
    opened.shut()


@pytest.fixture
def world(store: Store, clock: MovableClock) -> World:
    return make_world(store, clock)


@pytest.fixture
def target() -> Iterator[str]:
    with database() as url:
        yield url


@pytest.fixture
def moving(folder: Path, store: Store, target: str) -> Moving:
    """Returns a context manager that begins or continues the migration."""

    @contextlib.contextmanager
    def begun() -> Iterator[Mover]:
        with mover("sqlite", target, data_dir=folder) as made:
            made.begin()
            yield made

    return begun


@pytest.fixture
def arrived(folder: Path, target: str) -> Iterator[Callable[[], Store]]:
    """Returns a function that opens the installation on the target."""
    stores: list[Store] = []

    def open_one() -> Store:
        stores.append(open_store(target, data_dir=folder))
        return stores[-1]

    yield open_one
    for opened in stores:
        opened.shut()


def move(moving: Moving) -> None:
    with moving() as mover:
        mover.catch_up()
        mover.compare()
        mover.switch()


def test_every_value_of_every_table_arrives(
    store: Store, moving: Moving, arrived: Callable[[], Store]
) -> None:
    names = store.write_sync(fill_all)
    before = contents(store, names)
    assert all(len(rows) == 7 for rows in before.values()), "a table is not filled"
    # Deliveries that a worker has leased are free once it has ended.
    before["lease"] = []
    before["delivery"] = [row | {"lease_id": None} for row in before["delivery"]]
    with moving() as mover:
        mover.catch_up()
        assert {each.rows for each in mover.compare()} == {7}
        compared = mover.switch().compared
    assert {each.table: each.rows for each in compared} == {
        name: len(rows) for name, rows in before.items() if name not in REBUILT
    }
    before |= {name: [] for name in REBUILT}
    found = with_bytes(contents(arrived(), names))
    for name, rows in before.items():
        key = lambda row: repr(sorted(row.items()))  # noqa: E731
        assert sorted(found[name], key=key) == sorted(rows, key=key), name


def test_every_table_is_moved_or_stays_for_a_reason(
    world: World, moving: Moving, target: str
) -> None:
    """A new table needs no code for the migration: the test above fills and compares it."""
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    before = {name for (name,) in world.store.read_sync(lambda db: db.tuples(sql))}
    with moving() as mover:
        mover.catch_up()
        moved = {each.table for each in mover.compare()}
    with psycopg.connect(target) as raw:
        there = raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        assert {name for (name,) in there} - moved == {
            *STAYS,
            "moving_reached",
            "moving_reference",
        }
    assert before - moved == {"migration", "server_history", *REBUILT}
    assert all(STAYS.values())


def test_large_bodies_go_in_portions_of_their_own(
    world: World, moving: Moving, arrived: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "BYTES", 1024)
    for number in range(4):
        world.arrive(f"g-{number}", body=random.Random(number).randbytes(100_000).hex().encode())
    sizes = []
    with moving() as mover:
        mover.on_progress = lambda stage, table, done, total: (
            sizes.append(done) if (stage, table) == ("copying", "event") else None
        )
        mover.catch_up()
        mover.switch()
    assert sizes == [1, 2, 3, 4]
    assert same(world.store, arrived())


def test_the_audit_log_arrives_and_stays_guarded(
    world: World, moving: Moving, arrived: Callable[[], Store]
) -> None:
    """Its oldest entries are pruned during the migration."""

    def write(db: Connection) -> None:
        audit_log.add(db, audit_log.AuditEntry(audit_log.Actor("ada", "token"), "x", "/x", "204"))

    for _ in range(4):
        world.store.write_sync(write)
    with moving() as mover:
        mover.catch_up()
        world.clock.advance(3 * DAY / SECOND)
        world.store.write_sync(write)
        chain = world.store.read_sync(audit_check.start_check)
        last = world.store.read_sync(audit_check.last_before, world.clock.now() - DAY)
        assert world.store.read_sync(audit_check.check, chain, 10, last)
        world.store.write_sync(audit_check.record_pruning, chain)
        assert world.store.write_sync(audit_check.drop, 0, 10) == 4
        mover.catch_up()
        mover.switch()
    there = arrived()
    assert same(world.store, there)
    with pytest.raises(Unavailable, match="only added to"):
        execute(there, "DELETE FROM audit WHERE id = 5")
    there.write_sync(write)
    chain = there.read_sync(audit_check.start_check)
    assert there.read_sync(audit_check.check, chain, 10)
    assert (chain.first, chain.count, chain.problems) == (5, 3, [])


def test_a_nul_in_text_is_replaced(
    world: World, moving: Moving, arrived: Callable[[], Store]
) -> None:
    execute(world.store, "UPDATE account SET name = 'a' || char(0) || 'b'")
    move(moving)
    assert arrived().read_sync(lambda db: db.value("SELECT name FROM account")) == "a\ufffdb"


def test_a_value_too_long_for_the_target_is_refused(world: World, moving: Moving) -> None:
    world.store.write_sync(logins.failed, incompressible(1_000), 60)
    with pytest.raises(Conflict, match="PostgreSQL rejects a value of the database"):
        move(moving)


# The finished target.


def test_ids_that_were_given_are_not_given_again(
    world: World, moving: Moving, arrived: Callable[[], Store]
) -> None:
    world.hook()
    last = [world.arrive(f"g-{number}").event_id for number in range(3)][-1]
    execute(world.store, "DELETE FROM event WHERE id = :id", id=last)
    move(moving)
    new = make_world_of(arrived(), world)
    assert new.arrive("g-new").event_id == last + 1
    assert new.hook()["id"] == 2
    assert new.lease() == 1
    assert [row["id"] for row in new.rows()] == [1, 2, 3, 4]


def make_world_of(store: Store, world: World) -> World:
    return World(store, world.clock, world.user, world.repo)


SHAPE = """
    SELECT 'constraint', conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace
    UNION SELECT 'index', tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION SELECT 'column', table_name, column_name || data_type FROM information_schema.columns
    WHERE table_schema = 'public'
    UNION SELECT 'migration', number::text, name FROM migration
"""


def test_the_target_is_as_if_it_had_been_there_always(
    world: World, folder: Path, target: str
) -> None:
    def shape(url: str) -> set[tuple[Any, ...]]:
        with psycopg.connect(url) as raw:
            return set(raw.execute(SHAPE).fetchall())

    fresh = shape(target)
    with database(migrated=False) as empty:
        with mover("sqlite", empty, data_dir=folder) as moving:
            moving.begin()
            assert shape(empty) != fresh
            moving.catch_up()
            moving.switch()
        assert shape(empty) == fresh


def test_leased_deliveries_are_due_after_the_move(
    world: World, moving: Moving, arrived: Callable[[], Store]
) -> None:
    hook = world.hook()
    receipts = [world.arrive(f"g-{number}") for number in range(3)]
    world.claim(world.lease(), hook["id"], limit=2)
    move(moving)
    new = make_world_of(arrived(), world)
    claimed = new.claim(new.lease(), hook["id"])
    assert sorted(one.event_id for one in claimed) == [receipt.event_id for receipt in receipts]


def test_consumers_keep_their_leases(
    world: World, moving: Moving, arrived: Callable[[], Store]
) -> None:
    """Otherwise another consumer would get the delivery before the first one has answered."""
    hook = world.hook(url="pull:ci")
    for number in range(2):
        world.arrive(f"g-{number}")
    held, free = (row["id"] for row in world.rows())
    given = "ci", [NewLease(held, "")], world.now + HOUR
    (lease_id,) = world.store.write_sync(pull_leases.acquire, hook["id"], *given)
    with moving() as mover:
        mover.alone()
        mover.source.refuse_writes("closed for a while")
        mover.source.allow_writes()

    def is_held(store: Store) -> bool:
        (row,) = store.read_sync(pull_leases.leased, [lease_id])
        due = store.read_sync(pull_leases.due, hook["id"], 10)
        return row["delivery_id"] == held and [row["id"] for row in due] == [free]

    assert is_held(world.store)
    move(moving)
    assert is_held(arrived())


# Changes during a migration.


@pytest.mark.parametrize("seed", SEEDS)
def test_changes_during_a_copy_arrive_too(
    world: World, moving: Moving, arrived: Callable[[], Store], seed: int
) -> None:
    settled(world)
    bustle = Bustle(world, seed)
    with moving() as mover:
        mover.on_progress = bustle
        for _ in range(4):
            bustle()
            mover.catch_up()
        mover.compare()
        bustle()
        # The switch also reports progress, but `bustle` cannot change a closed database.
        mover.on_progress = lambda *_: None
        mover.switch()
    assert same(world.store, arrived())


@pytest.mark.parametrize("seed", SEEDS)
def test_changes_between_statements_arrive_too(
    world: World,
    moving: Moving,
    arrived: Callable[[], Store],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    settled(world)
    bustle = Bustle(world, seed)
    real = TargetConnection.run

    def run(link: TargetConnection, sql: str, given: Any = None) -> int:
        if bustle.random.random() < 0.2:
            bustle()
        return real(link, sql, given)

    with moving() as mover:
        with monkeypatch.context() as patched:
            patched.setattr(TargetConnection, "run", run)
            for _ in range(2):
                mover.catch_up()
        mover.switch()
    assert same(world.store, arrived())


def test_a_name_may_pass_to_another_row_while_they_are_read(
    world: World, moving: Moving, arrived: Callable[[], Store]
) -> None:
    for number in range(5):
        world.another_repo(f"r{number}")

    def rename(stage: str, table: str, done: int, total: int) -> None:
        if (stage, table, done) == ("copying", "repository", 3):
            for row_id, name in ((1, "other"), (6, "engine")):
                sql = "UPDATE repository SET name_key = :name WHERE id = :id"
                execute(world.store, sql, id=row_id, name=name)

    with moving() as mover:
        mover.on_progress = rename
        with pytest.raises(Collision):
            mover.follow()
        mover.catch_up()
        mover.switch()
    assert same(world.store, arrived())


def test_appended_rows_are_not_noted_as_changes(world: World, moving: Moving) -> None:
    hook = world.hook()
    world.arrive("before")
    with moving() as mover:
        mover.catch_up()
        world.arrive("after")
        lease = world.lease()
        claimed = world.claim(lease, hook["id"])
        world.store.write_sync(record, [world.outcome(lease, one) for one in claimed])
        noted = world.store.read_sync(lambda db: db.tuples("SELECT name, first FROM moving_change"))
        # The outcomes also changed the minute's counters: the repository's row and the row of all.
        assert list(noted) == [("delivery", claimed[0].id), ("tally", world.now // MINUTE)]
        assert (
            mover.follow()
            == 1 + 1 + len(("event", "delivery", "lease", "attempt", "attempt")) + 2 + 2
        )


def test_nothing_reads_for_long(world: World, folder: Path, moving: Moving) -> None:
    """During a long read, SQLite could not reset the WAL, which would grow with each write."""
    for number in range(20):
        world.arrive(f"g-{number}")
    results = []

    def checkpoint(*_: Any) -> None:
        world.arrive(f"h-{len(results)}")
        raw = sqlite3.connect(folder / "tocsin.db", timeout=0)
        results.append(raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
        raw.close()

    with moving() as mover:
        mover.on_progress = checkpoint
        mover.follow()
        mover.compare()
    assert set(results) == {0}
    assert len(results) > 10


# Interruptions.


class Stop(BaseException):
    """Interrupts a migration, as Ctrl-C or a crash would."""


def test_a_copy_that_was_interrupted_goes_on(
    world: World, moving: Moving, arrived: Callable[[], Store]
) -> None:
    bustle = settled(world)
    for number in range(30):
        world.arrive(f"g-{number}")
    copied = []

    def on_progress(stage: str, table: str, done: int, total: int) -> None:
        if table == "event":
            copied.append(total - done)
            if len(copied) == 4:
                raise Stop

    with moving() as mover:
        mover.on_progress = on_progress
        with pytest.raises(Stop):
            mover.catch_up()
    for _ in range(20):
        bustle()
    left = copied.pop()
    with moving() as mover:
        mover.on_progress = on_progress
        copied[:] = []
        with contextlib.suppress(Stop):
            mover.follow()
    # The stopped copy had committed its last portion, so the next one of three rows follows.
    assert copied[0] <= left + 20 * 4 * 3 - 3
    move(moving)
    assert same(world.store, arrived())


@contextlib.contextmanager
def stopping(monkeypatch: pytest.MonkeyPatch, after: int) -> Iterator[None]:
    """Stop after `after` statements on the target. Nothing more is written to the source either."""
    left = itertools.count(after, -1)

    def dead(*_: Any) -> None:
        raise Stop

    def mortal(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(link: TargetConnection, *given: Any) -> Any:
            if next(left) <= 0:
                patched.setattr(SqliteSource, "write", dead)
                raise Stop
            return real(link, *given)

        return call

    with monkeypatch.context() as patched:
        for name in ("run", "rows", "copy"):
            patched.setattr(TargetConnection, name, mortal(getattr(TargetConnection, name)))
        with pytest.raises(Stop):
            yield


def test_a_migration_can_stop_at_any_statement(
    world: World,
    moving: Moving,
    arrived: Callable[[], Store],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(source, "ROWS", 1000)
    bustle = settled(world)
    for after in (1, 2, 4, 7, 11, 20, 35, 50, 70, 90, 120):
        with stopping(monkeypatch, after), moving() as mover:
            mover.catch_up()
            mover.compare()
            raise Stop
        bustle()
    move(moving)
    assert same(world.store, arrived())


def closed(mover: Mover) -> None:
    """Begin a switch: lock out workers, catch up, and let the source refuse writes."""
    assert mover.alone()
    mover.catch_up()
    mover.source.refuse_writes(f"closed for {mover.shown}")


@pytest.mark.parametrize("part", [0.02, 0.3, 0.7, 0.99])
def test_an_interrupted_switch_can_be_finished(
    world: World,
    folder: Path,
    target: str,
    moving: Moving,
    arrived: Callable[[], Store],
    monkeypatch: pytest.MonkeyPatch,
    part: float,
) -> None:
    monkeypatch.setattr(source, "ROWS", 1000)
    settled(world)
    with moving() as mover:
        closed(mover)
        # A switch copies the released deliveries again, counts each table, reads each filled table
        # and looks for more rows, and completes the target. The last case stops the completion.
        filled = [table for table in mover.source.tables if mover.source.count(table)]
        statements = 3 + len(mover.source.tables) + 2 * len(filled) + 3
        with stopping(monkeypatch, round(part * statements)):
            mover.switch()
    # Neither database can be opened now.
    for url in ("sqlite", target):
        with pytest.raises(Unusable):
            open_store(url, data_dir=folder)
    with pytest.raises(Unavailable):
        world.arrive("late")
    with moving() as mover:
        assert mover.closed
        mover.switch()
    assert same(world.store, arrived())


def test_a_lost_connection_is_reported_and_the_migration_goes_on(
    world: World, target: str, moving: Moving, arrived: Callable[[], Store]
) -> None:
    settled(world)
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'tocsin migrate'"
    )
    with moving() as mover:
        mover.on_progress = lambda *_: on_target(target, cut)
        with pytest.raises(Unavailable):
            mover.catch_up()
    move(moving)
    assert same(world.store, arrived())


def test_a_connection_lost_in_the_switch_gives_the_old_one_back(
    world: World, target: str, moving: Moving, arrived: Callable[[], Store]
) -> None:
    settled(world)
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'tocsin migrate'"
    )
    with moving() as mover:
        mover.catch_up()
        mover.on_progress = lambda stage, *_: (
            on_target(target, cut) if stage == "comparing" else None
        )
        with pytest.raises(Unavailable):
            mover.switch()
    world.arrive("taken in by the old one")
    move(moving)
    assert same(world.store, arrived())


# Comparison.

# Changes of the target, each with its message.
TAMPERING = {
    "UPDATE delivery SET attempts = 7 WHERE id = 5": "1 in delivery (id 5)",
    "UPDATE event SET body = body || '\\x00' WHERE id = 5; DELETE FROM event WHERE id = 1;"
    " DELETE FROM event WHERE id = 10; UPDATE event SET"
    " name = CASE id WHEN 6 THEN 'star' WHEN 8 THEN 'push' ELSE name END": "5 in event"
    " (id 1, 5, 6, 8, 10)",
    "INSERT INTO lease (id, holder, expires_at) VALUES (900, 'me', 1)": "1 in lease (id 900)",
    "DELETE FROM subscription WHERE event = 'push';"
    " INSERT INTO subscription (repo_id, event, hook_id) VALUES (1, 'star', 1)": "1 in"
    " subscription (repo_id 1)",
    "UPDATE failed_login SET times = 7 WHERE who >= '4'": "6 in failed_login"
    " (who 4 ✓, 5 ✓, 6 ✓, 7 ✓, 8 ✓, ...)",
}


def test_the_comparison_finds_differing_rows(
    world: World, target: str, moving: Moving, arrived: Callable[[], Store]
) -> None:
    world.hook("push")
    for number in range(10):
        world.arrive(f"g-{number}", name="star" if number == 7 else "push")
        execute(
            world.store,
            "INSERT INTO failed_login (who, times, since) VALUES (:who, 1, 0)",
            who=f"{number} ✓",
        )
    with moving() as mover:
        mover.catch_up()
        mover.compare()
        for statement in TAMPERING:
            on_target(target, statement)
        with pytest.raises(Conflict, match="Run again") as caught:
            mover.compare()
        said = str(caught.value).partition(": ")[2].rpartition(". Does")[0]
        assert sorted(said.split("; ")) == sorted(TAMPERING.values())
        # The differing rows are copied again.
        mover.catch_up()
        mover.compare()
        mover.switch()
    assert same(world.store, arrived())


def test_the_switch_compares_and_gives_the_old_one_back(
    world: World, target: str, moving: Moving, arrived: Callable[[], Store]
) -> None:
    world.hook("push")
    for number in range(10):
        world.arrive(f"g-{number}")
    with moving() as mover:
        mover.catch_up()
        mover.compare()
        on_target(target, "UPDATE delivery SET attempts = 7 WHERE id = 5")
        with pytest.raises(Conflict, match=r"1 in delivery \(id 5\)"):
            mover.switch()
        world.arrive("taken in by the old one")
        mover.switch()
    assert same(world.store, arrived())


def test_large_tables_are_counted_in_the_switch(
    world: World, target: str, moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "SMALL", 2)
    for number in range(5):
        world.arrive(f"g-{number}")
    with moving() as mover:
        mover.catch_up()
        on_target(target, "DELETE FROM event WHERE id = 3")
        with pytest.raises(Conflict, match=r"1 in event \(id 3\)"):
            mover.switch()
        compared = {each.table: each for each in mover.switch().compared}
    assert (compared["event"].rows, compared["event"].checksum) == (5, None)
    assert compared["account"].checksum is not None


def test_a_row_that_comes_back_other_than_it_was_sent_is_found(
    world: World, target: str, moving: Moving
) -> None:
    on_target(
        target,
        "CREATE FUNCTION spoil() RETURNS trigger AS $$ BEGIN NEW.guid = 'x'; RETURN NEW; END $$"
        " LANGUAGE plpgsql; CREATE TRIGGER spoil BEFORE INSERT ON event FOR EACH ROW"
        " EXECUTE FUNCTION spoil()",
    )
    world.arrive("g-1")
    with moving() as mover, pytest.raises(Conflict, match="rows of event differ"):
        mover.catch_up()


# The switch.


def test_the_switch_loses_nothing_under_load(
    world: World,
    folder: Path,
    moving: Moving,
    arrived: Callable[[], Store],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(source, "ROWS", 1000)
    monkeypatch.setattr(moving_copy, "QUICK", 0.5)
    monkeypatch.setattr(moving_copy, "PASSES", 4)
    world.hook("push")
    with Load(folder, world) as load:
        move(moving)
    assert load.receipts
    assert {type(each) for each in load.refused} == {Unavailable}
    assert "closed by `tocsin migrate`" in str(load.refused[0])
    other = arrived()
    assert same(world.store, other)
    found = dict(other.read_sync(lambda db: db.tuples("SELECT guid, id FROM event")))
    assert {receipt.guid: receipt.event_id for receipt in load.receipts} == found
    deliveries = other.read_sync(lambda db: db.value("SELECT count(*) FROM delivery"))
    assert deliveries == sum(receipt.deliveries for receipt in load.receipts)


def test_the_old_database_names_the_new_one(
    world: World, folder: Path, target: str, moving: Moving
) -> None:
    move(moving)
    with psycopg.connect(target) as raw:
        name = raw.info.dbname
    with pytest.raises(Unusable, match=name):
        open_store("sqlite", data_dir=folder)
    for change in ("DELETE FROM repository", "UPDATE account SET name = 'x'"):
        with pytest.raises(Unavailable, match=name):
            execute(world.store, change)
    assert world.store.read_sync(lambda db: db.value("SELECT count(*) FROM repository")) == 1
    with pytest.raises(Unavailable, match=name):
        world.arrive("late")
    with pytest.raises(Unusable, match=name), moving():
        pass


def test_no_password_is_written_down(world: World, folder: Path, target: str) -> None:
    secret = target.replace("postgres:@", "postgres:hush-hush@")
    with mover("sqlite", secret, data_dir=folder) as moving:
        moving.begin()
        moving.switch()
    with pytest.raises(Unusable) as caught:
        open_store("sqlite", data_dir=folder)
    assert "hush" not in str(caught.value)


def test_a_switch_beside_a_worker_is_refused(world: World, moving: Moving) -> None:
    assert world.store.engine.acquire_worker_lock()
    with moving() as mover:
        assert not mover.alone()
        with pytest.raises(Unusable, match="stop it first"):
            mover.switch()
        world.arrive("nothing is closed")


def test_a_worker_beside_a_switch_is_refused(world: World, moving: Moving) -> None:
    with moving() as mover:
        assert mover.alone()
        assert not world.store.engine.acquire_worker_lock()
    assert world.store.engine.acquire_worker_lock()


# Giving up.


def test_a_move_can_be_given_up(world: World, folder: Path, target: str, moving: Moving) -> None:
    def shape(db: Connection) -> list[tuple[Any, ...]]:
        return list(db.tuples("SELECT type, name, sql FROM sqlite_master ORDER BY name"))

    before = world.store.read_sync(shape)
    with moving() as mover:
        assert world.store.read_sync(shape) != before
        mover.catch_up()
        mover.abandon()
    assert world.store.read_sync(shape) == before
    with pytest.raises(Unusable, match="another database"), moving():
        pass


def test_a_closed_database_can_be_opened_again_until_the_move_is_finished(
    world: World, folder: Path, moving: Moving
) -> None:
    with moving() as mover:
        mover.alone()
        mover.source.refuse_writes(f"closed for {mover.shown}")
    with (
        database() as other,
        mover_to(other, folder) as wrong,
        pytest.raises(Unusable, match="may be finished"),
    ):
        wrong.abandon()
    with moving() as mover:
        mover.abandon()
    world.arrive("g-1")


def test_a_finished_move_cannot_be_given_up(
    world: World, folder: Path, target: str, moving: Moving
) -> None:
    move(moving)
    with mover_to(target, folder) as late, pytest.raises(Unusable, match="may be finished"):
        late.abandon()
    with pytest.raises(Unusable, match="closed by"):
        open_store("sqlite", data_dir=folder)


def test_a_finished_move_cannot_be_given_up_with_an_empty_target_of_a_similar_name(
    world: World, folder: Path, moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    with moving() as right:
        shown = right.shown
    move(moving)
    with database() as other, mover_to(other, folder) as wrong:
        monkeypatch.setattr(Mover, "shown", shown[:-1])
        with pytest.raises(Unusable, match="may be finished"):
            wrong.abandon()


def mover_to(url: str, folder: Path) -> AbstractContextManager[Mover]:
    return mover("sqlite", url, data_dir=folder)


# Refusals.


def test_an_unfinished_target_cannot_be_opened(
    world: World, folder: Path, target: str, moving: Moving
) -> None:
    with moving() as mover:
        mover.catch_up()
    with pytest.raises(Unusable, match="is being moved to this database"):
        open_store(target, data_dir=folder)


def test_a_target_that_holds_something_is_refused(
    world: World, folder: Path, target: str, tmp_path: Path
) -> None:
    other = open_store(target, data_dir=tmp_path / "other")
    make_world(other, world.clock)
    other.shut()
    before = world.store.read_sync(lambda db: db.tuples("SELECT name FROM sqlite_master"))
    with mover_to(target, folder) as moving, pytest.raises(Unusable, match="account"):
        moving.begin()
    assert world.store.read_sync(lambda db: db.tuples("SELECT name FROM sqlite_master")) == before


def test_a_target_of_something_else_is_refused(world: World, folder: Path) -> None:
    with database(migrated=False) as url:
        on_target(url, "CREATE TABLE things (id BIGINT PRIMARY KEY)")
        with mover_to(url, folder) as moving, pytest.raises(Unusable, match="things"):
            moving.begin()


def test_a_newer_target_is_refused(world: World, folder: Path, target: str) -> None:
    on_target(target, "INSERT INTO migration (number, name, applied_at) VALUES (7000, 'x', 0)")
    with mover_to(target, folder) as moving, pytest.raises(Unusable, match="newer tocsin"):
        moving.begin()


def test_a_target_that_another_version_began_is_refused(
    world: World, folder: Path, target: str, moving: Moving
) -> None:
    with moving():
        pass
    # Between releases, a step changes in place and keeps its number.
    on_target(target, "UPDATE migration SET name = '0001_schema.sql 0' WHERE number = 1")
    with mover_to(target, folder) as later, pytest.raises(Unusable, match="another version"):
        later.begin()


def test_a_target_in_the_middle_of_another_move_is_refused(
    world: World, target: str, moving: Moving, tmp_path: Path
) -> None:
    with moving():
        pass
    other = tmp_path / "other"
    open_store("sqlite", data_dir=other).shut()
    with mover_to(target, other) as second, pytest.raises(Unusable, match="another database"):
        second.begin()


def test_a_target_in_use_is_refused(
    world: World, folder: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving_copy, "LINGERS", 0.1)
    hub = open_store(target, data_dir=folder)
    try:
        with mover_to(target, folder) as moving, pytest.raises(Unusable, match="stop it first"):
            moving.begin()
    finally:
        hub.shut()


def test_a_move_has_no_limit_of_time(target: str) -> None:
    """The last transaction adds foreign keys, which takes long for large tables."""
    name = conninfo_to_dict(target)["dbname"]
    with psycopg.connect(target, autocommit=True) as raw:
        limits = ["statement_timeout"]
        limits += ["transaction_timeout"] if raw.info.server_version >= 170_000 else []
        for limit in limits:
            raw.execute(f"ALTER DATABASE {name} SET {limit} = '1h'")
    link = TargetConnection(target)
    assert [link.value(f"SHOW {limit}") for limit in limits] == ["0"] * len(limits)
    link.close()


def test_a_second_migration_is_refused(
    world: World, folder: Path, target: str, moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    with moving():
        monkeypatch.setattr(target_connection, "PATIENCE", 0.1)
        with (
            pytest.raises(Unusable, match="another `tocsin migrate`"),
            mover_to(target, folder),
        ):
            pass


def test_a_second_move_ends_the_first(world: World, folder: Path, moving: Moving) -> None:
    settled(world)
    with moving() as first, database() as url, mover_to(url, folder) as second:
        first.catch_up()
        second.begin()
        with pytest.raises(Unusable, match="another move has begun"):
            first.catch_up()
        second.catch_up()
        second.compare()
    with pytest.raises(Unusable, match="another database"), moving():
        pass


def test_a_new_target_is_filled_from_the_start(world: World, folder: Path, moving: Moving) -> None:
    settled(world)
    with moving() as mover:
        mover.catch_up()
    with database() as url:
        with mover_to(url, folder) as again:
            again.begin()
            again.catch_up()
            again.switch()
        other = open_store(url, data_dir=folder)
        try:
            assert same(world.store, other)
        finally:
            other.shut()


def test_other_tables_upset_the_move(world: World, moving: Moving) -> None:
    with moving() as mover:
        execute(world.store, "ALTER TABLE account ADD COLUMN more TEXT")
        with pytest.raises(Unusable, match="another move has begun"):
            mover.catch_up()


@pytest.mark.parametrize(
    ("url", "to", "said"),
    [
        ("postgresql:///x", "postgresql:///y", "already"),
        ("sqlite", "sqlite:///tmp/other.db", "has to be on PostgreSQL"),
        ("sqlite", "postgresql://nowhere.invalid:1/x", "cannot be reached"),
        ("sqlite", "postgresql://host/x?nonsense=1", "no PostgreSQL URL"),
        ("sqlite:///nowhere/tocsin.db", "postgresql:///x", "no database at"),
    ],
)
def test_impossible_moves_are_refused(
    world: World, folder: Path, url: str, to: str, said: str
) -> None:
    with pytest.raises(StoreError, match=said), mover(url, to, data_dir=folder):
        pass
