"""Reads: SQLite's short reads run on the event loop, all others on a thread. No read can write."""

import asyncio
import threading

import pytest
from engines import embedded
from store_world import Gate

from store import Connection, Store
from store.accounts import accounts
from store.database import store as stores
from store.database.connection import ReadBudgetExceeded
from store.database.sqlite import connections
from store.errors import Missing, StoreError, Unavailable

LONG = (
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)"
    " SELECT count(*) FROM n"
)


def where(db: Connection, threads: list[threading.Thread], sql: str) -> int:
    threads.append(threading.current_thread())
    return db.value(sql)


async def test_a_read_sees_a_finished_write(store: Store) -> None:
    await store.write(accounts.create, "ada")
    found = await store.read(accounts.by_login, "ADA")
    assert found is not None
    assert found["login"] == "ada"


async def test_a_short_read_is_made_where_it_is_asked(store: Store) -> None:
    threads: list[threading.Thread] = []
    assert await store.read(where, threads, "SELECT 7") == 7
    assert (threads == [threading.current_thread()]) == store.engine.inline


async def test_a_thread_takes_a_session_that_is_open(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new session reads the schema, which takes as long as half a page of the dashboard."""
    opened = []
    make = store.engine.session
    monkeypatch.setattr(store.engine, "session", lambda: opened.append(make()) or opened[-1])
    for _ in range(3):
        await store.read(lambda db: db.require_thread())
        store.read_sync(lambda db: db.require_thread())
    assert len(opened) <= 1


async def test_a_long_read_moves_to_a_thread_and_still_answers(store: Store) -> None:
    threads: list[threading.Thread] = []
    assert await store.read(where, threads, LONG) == 60_000
    assert threads[-1] is not threading.current_thread()


async def test_a_read_that_gets_no_thread_can_be_repeated(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system limits the threads of a user, a service and a container."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(Unavailable, match="nothing can be read: can't start new thread"):
            await store.read(lambda db: db.require_thread())
    await store.read(lambda db: db.require_thread())


async def test_a_short_read_after_a_long_one_is_short_again(store: Store) -> None:
    threads: list[threading.Thread] = []
    await store.read(where, threads, LONG)
    threads.clear()
    for _ in range(50):
        assert await store.read(where, threads, "SELECT count(*) FROM account") == 0
    assert len(threads) == 50


@embedded("it counts the steps of a read")
async def test_the_rollback_of_a_long_read_is_not_interrupted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in thousands was: SQLite adds up the steps of a statement that runs again."""
    monkeypatch.setattr(connections, "STEPS", 1)
    for _ in range(2):
        assert await store.read(lambda db: db.value(LONG)) == 60_000
    assert await store.read(lambda db: db.value("SELECT 7")) == 7


async def test_many_long_reads_are_answered_beside_each_other(store: Store) -> None:
    await store.write(accounts.create, "ada")
    threads: list[threading.Thread] = []
    answers = await asyncio.gather(*[store.read(where, threads, LONG) for _ in range(6)])
    assert answers == [60_000] * 6


async def test_a_read_does_not_wait_for_a_write(store: Store) -> None:
    gate = Gate()
    with gate.closed():
        writing = asyncio.ensure_future(store.write(gate))
        await asyncio.to_thread(gate.reached)
        assert await store.read(accounts.list_all) == []
        assert not writing.done()
    await writing


async def test_a_read_that_fails_leaves_the_next_one_alone(store: Store) -> None:
    def failing(db: Connection) -> None:
        db.value("SELECT 1")
        raise Missing("nothing")

    with pytest.raises(Missing):
        await store.read(failing)
    assert await store.read(accounts.list_all) == []
    with pytest.raises(Missing):
        store.read_sync(failing)
    assert store.read_sync(accounts.list_all) == []


async def test_a_read_has_one_time(store: Store) -> None:
    assert await store.read(lambda db: db.now) == store.clock.now()
    assert store.read_sync(lambda db: db.now) == store.clock.now()


async def test_a_read_cannot_write(store: Store) -> None:
    with pytest.raises(StoreError):
        await store.read(accounts.create, "ada")
    with pytest.raises(StoreError):
        store.read_sync(accounts.create, "ada")
    assert await store.read(accounts.list_all) == []


@embedded("on PostgreSQL, every read is on a thread")
async def test_after_a_long_read_others_of_its_kind_are_on_a_thread_at_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[bool] = []

    def look(db: Connection, statement: str) -> None:
        threads.append(threading.current_thread() is not threading.main_thread())
        db.value(statement)

    await store.read_of("page", look, LONG)
    assert threads == [False, True]
    await store.read_of("page", look, "SELECT 1")
    await store.read_of("other page", look, "SELECT 1")
    await store.read(look, LONG)
    await store.read(look, "SELECT 1")
    assert threads[2:] == [True, False, False, True, False]
    monkeypatch.setattr(stores, "APART_SECONDS", 0.0)
    await store.read_of("other page", look, LONG)
    await store.read_of("other page", look, "SELECT 1")
    assert threads[7:] == [False, True, False]


async def test_a_long_read_cannot_write_either(store: Store) -> None:
    def long_then_write(db: Connection) -> None:
        db.value(LONG)
        accounts.create(db, "ada")

    with pytest.raises(StoreError):
        await store.read(long_then_write)
    assert store.read_sync(accounts.list_all) == []


async def test_reading_does_not_keep_the_store_from_writing(store: Store) -> None:
    for login in ("ada", "bob"):
        await store.read(accounts.list_all)
        await store.write(accounts.create, login)
        store.write_sync(accounts.create, f"{login}-2")
        store.read_sync(accounts.list_all)
    assert len(await store.read(accounts.list_all)) == 4


async def test_a_long_read_on_a_thread_has_no_limit(store: Store) -> None:
    """A read on a thread, or in a command, has no limit of time."""
    try:
        assert store.read_sync(lambda db: db.value(LONG)) == 60_000
    except ReadBudgetExceeded:
        pytest.fail("a read without a bound was given up")


@pytest.mark.parametrize("sql", ["SELECT 7", LONG], ids=["short", "long"])
async def test_a_closed_store_refuses_to_read(store: Store, sql: str) -> None:
    await store.read(where, [], sql)
    await store.close()
    with pytest.raises(Unavailable, match="the store is closed"):
        await store.read(where, [], sql)
