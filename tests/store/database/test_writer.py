"""The writer: group commits, separate failures, limits of the queue, and calls after a commit."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import psycopg
import pytest
from engines import embedded
from store_world import Gate, Spy
from waiting import PATIENCE

from store import Connection, Store
from store.accounts import accounts
from store.clock import MovableClock
from store.database.sqlite.engine import SqliteEngine
from store.database.writing import writer
from store.database.writing.retries import MOST_TRIES
from store.errors import (
    Busy,
    Conflict,
    Contended,
    Damaged,
    Full,
    Locked,
    Missing,
    StoreError,
    Unavailable,
    Unusable,
)
from store.repositories import repositories

NOBODY = 10**9


def logins(store: Store) -> list[str]:
    return [row["login"] for row in store.read_sync(accounts.list_all)]


def create_all(db: Connection, names: Sequence[str]) -> list[int | Exception]:
    """A batch function that fails for the whole batch if one name is taken."""
    return [accounts.create(db, name)["id"] for name in names]


def create_each(db: Connection, names: Sequence[str]) -> list[str | Exception]:
    """A batch function that returns a result or an error for each name."""
    return [
        Missing(name) if name == "nobody" else accounts.create(db, name)["login"] for name in names
    ]


def create_then_fail(db: Connection, name: str, call: Callable[[], None]) -> None:
    accounts.create(db, name)
    db.after_commit(call)
    raise Missing(name)


def refer_to_a_deleted_one(db: Connection, tries: list[int]) -> None:
    """At the first try, the account is gone when it is referred to."""
    tries.append(NOBODY if not tries else accounts.create(db, "owner")["id"])
    repositories.create(db, tries[-1], "engine")


def create_then_call(db: Connection, name: str, call: Callable[[], None]) -> str:
    accounts.create(db, name)
    db.after_commit(call)
    return name


async def test_a_write_returns_the_result_of_its_function(store: Store) -> None:
    row = await store.write(accounts.create, "ada", name="Ada")
    assert (row["login"], row["name"]) == ("ada", "Ada")
    assert logins(store) == ["ada"]


async def test_writes_given_together_share_one_commit(store: Store) -> None:
    spy = Spy(store)
    await asyncio.gather(*[store.write(accounts.create, f"u{at}") for at in range(100)])
    assert spy.commits == 1
    assert len(logins(store)) == 100


async def test_writes_queued_during_a_commit_form_the_next_group(store: Store) -> None:
    gate = Gate()
    spy = Spy(store)
    with gate.closed():
        first = asyncio.ensure_future(store.write(gate))
        await asyncio.to_thread(gate.reached)
        rest = []
        for at in range(50):
            rest.append(asyncio.ensure_future(store.write(accounts.create, f"u{at}")))
            await asyncio.sleep(0)
        await asyncio.sleep(0)
    await asyncio.gather(first, *rest)
    assert spy.commits == 2


async def test_a_group_has_a_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MOST_IN_GROUP", 2)
    gate = Gate()
    spy = Spy(store)
    with gate.closed():
        first = asyncio.ensure_future(store.write(gate))
        await asyncio.to_thread(gate.reached)
        rest = []
        for at in range(6):
            rest.append(asyncio.ensure_future(store.write(accounts.create, f"u{at}")))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
    await asyncio.gather(first, *rest)
    assert spy.commits == 4


async def test_writes_of_a_group_have_one_time_and_see_each_other(
    store: Store, clock: MovableClock
) -> None:
    rows = await asyncio.gather(
        store.write(accounts.create, "ada"), store.write(accounts.create, "bob")
    )
    assert {row["created_at"] for row in rows} == {clock.now()}
    again = await asyncio.gather(
        store.write(accounts.create, "cyd"),
        store.write(accounts.create, "cyd"),
        return_exceptions=True,
    )
    assert isinstance(again[1], Conflict)


async def test_a_failing_write_does_not_take_its_neighbours_along(store: Store) -> None:
    spy = Spy(store)
    answers = await asyncio.gather(
        store.write(accounts.create, "ada"),
        store.write(create_then_fail, "bob", lambda: None),
        store.write(accounts.create, "cyd"),
        return_exceptions=True,
    )
    assert isinstance(answers[1], Missing)
    assert logins(store) == ["ada", "cyd"]
    assert spy.commits == 1


async def test_a_write_alone_that_fails_leaves_nothing(store: Store) -> None:
    with pytest.raises(Missing):
        await store.write(create_then_fail, "bob", lambda: None)
    with pytest.raises(ZeroDivisionError):
        await store.write(lambda db: 1 // 0)
    assert logins(store) == []
    await store.write(accounts.create, "ada")
    assert logins(store) == ["ada"]


async def test_no_error_of_one_write_keeps_others_waiting(store: Store) -> None:
    async with asyncio.timeout(PATIENCE):
        answers = await asyncio.gather(
            store.write(lambda db: next(iter([]))),
            store.write(accounts.create, "ada"),
            return_exceptions=True,
        )
    assert isinstance(answers[0], RuntimeError)
    assert logins(store) == ["ada"]


async def test_items_of_a_batch_are_run_together(store: Store) -> None:
    calls: list[list[int]] = []

    def double(db: Connection, items: list[int]) -> list[int]:
        calls.append(list(items))
        return [item * 2 for item in items]

    answers = await asyncio.gather(
        store.batch(double, 1),
        store.write(accounts.create, "ada"),
        store.batch(double, 2),
        store.batch(double, 3),
    )
    assert [answers[0], *answers[2:]] == [2, 4, 6]
    assert calls == [[1, 2, 3]]


@pytest.mark.parametrize("neighbour", [True, False])
async def test_a_batch_that_fails_falls_back_to_single_items(store: Store, neighbour: bool) -> None:
    store.write_sync(accounts.create, "taken")
    others = [store.write(accounts.create, "other")] if neighbour else []
    names = ["ada", "taken", "bob"]
    answers = await asyncio.gather(
        *[store.batch(create_all, name) for name in names], *others, return_exceptions=True
    )
    assert isinstance(answers[1], Conflict)
    assert isinstance(answers[0], int)
    assert isinstance(answers[2], int)
    assert {"ada", "bob", "taken"} <= set(logins(store))


async def test_an_exception_in_a_batchs_answers_goes_to_its_giver_only(store: Store) -> None:
    answers = await asyncio.gather(
        *[store.batch(create_each, name) for name in ("ada", "nobody", "bob")],
        return_exceptions=True,
    )
    assert answers[0] == "ada"
    assert isinstance(answers[1], Missing)
    assert answers[2] == "bob"
    assert logins(store) == ["ada", "bob"]


async def test_a_batch_that_answers_too_little_fails_and_leaves_nothing(store: Store) -> None:
    def short(db: Connection, names: list[str]) -> list[Any]:
        accounts.create(db, names[0])
        return []

    answers = await asyncio.gather(
        store.batch(short, "ada"), store.batch(short, "bob"), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [ValueError, ValueError]
    assert logins(store) == []


async def test_an_answer_of_a_batch_that_was_undone_is_forgotten(store: Store) -> None:
    calls = []

    def moody(db: Connection, items: list[int]) -> list[int | Exception]:
        """Refuse all items in the first call, and accept them in later calls."""
        calls.append(items)
        return [Missing("for now") if len(calls) == 1 else item for item in items]

    spy = Spy(store)
    spy.failing["commit"] = RuntimeError("the commit failed")
    answers = await asyncio.gather(
        store.batch(moody, 1), store.batch(moody, 2), return_exceptions=True
    )
    assert answers == [1, 2]


async def test_after_commit_runs_once_the_write_can_be_seen(store: Store) -> None:
    seen: list[list[str]] = []
    call = lambda: seen.append(logins(store))  # noqa: E731
    await asyncio.gather(
        store.write(create_then_call, "ada", call), store.write(accounts.create, "bob")
    )
    assert seen == [["ada", "bob"]]
    await store.write(create_then_call, "cyd", call)
    assert seen[1:] == [["ada", "bob", "cyd"]]


async def test_after_commit_runs_before_the_caller_goes_on(store: Store) -> None:
    order: list[str] = []
    await store.write(create_then_call, "ada", lambda: order.append("after the commit"))
    order.append("the caller")
    assert order == ["after the commit", "the caller"]


async def test_after_commit_never_runs_for_a_write_that_was_undone(store: Store) -> None:
    called: list[str] = []
    await asyncio.gather(
        store.write(create_then_call, "ada", lambda: called.append("ada")),
        store.write(create_then_fail, "bob", lambda: called.append("bob")),
        store.write(create_then_call, "cyd", lambda: called.append("cyd")),
        return_exceptions=True,
    )
    assert called == ["ada", "cyd"]
    with pytest.raises(Missing):
        await store.write(create_then_fail, "dan", lambda: called.append("dan"))
    await store.write(accounts.create, "eve")
    assert called == ["ada", "cyd"]


async def test_after_commit_never_runs_where_the_commit_fails(store: Store) -> None:
    spy = Spy(store)
    spy.failing["commit"] = Unavailable("the disk is full")
    called: list[str] = []
    with pytest.raises(Unavailable):
        await store.write(create_then_call, "ada", lambda: called.append("ada"))
    await store.write(accounts.create, "bob")
    assert called == []
    assert logins(store) == ["bob"]


async def test_a_failed_call_after_a_commit_leaves_no_write_waiting(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[str] = []
    async with asyncio.timeout(PATIENCE):
        answers = await asyncio.gather(
            store.write(create_then_call, "ada", lambda: 1 // 0),
            store.write(create_then_call, "bob", lambda: called.append("bob")),
        )
    assert answers == ["ada", "bob"]
    assert called == ["bob"]
    assert "ZeroDivisionError" in caplog.text


async def test_too_much_waiting_is_refused_and_then_taken_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MOST_WAITING", 2)
    gate = Gate()
    with gate.closed():
        first = asyncio.ensure_future(store.write(gate))
        await asyncio.to_thread(gate.reached)
        second = asyncio.ensure_future(store.write(accounts.create, "ada"))
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await store.write(accounts.create, "bob")
        with pytest.raises(Busy):
            await store.write_relaxed(accounts.create, "bob")
        with pytest.raises(Busy):
            await store.batch(create_all, "bob")
    await asyncio.gather(first, second)
    await store.write(accounts.create, "bob")
    assert logins(store) == ["ada", "bob"]


async def test_too_many_bytes_waiting_are_refused_and_then_taken_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MOST_BYTES", 100)
    gate = Gate()
    with gate.closed():
        first = asyncio.ensure_future(store.write(gate))
        await asyncio.to_thread(gate.reached)
        second = asyncio.ensure_future(store.batch(create_all, "ada", weight=60))
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await store.batch(create_all, "bob", weight=60)
    await asyncio.gather(first, second)
    await store.batch(create_all, "bob", weight=60)
    assert logins(store) == ["ada", "bob"]


async def test_a_database_that_cannot_be_written_fails_the_group_and_not_the_next(
    store: Store,
) -> None:
    spy = Spy(store)
    spy.failing["commit"] = Unavailable("the disk is full")
    answers = await asyncio.gather(
        *[store.write(accounts.create, name) for name in ("ada", "bob")], return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [Unavailable, Unavailable]
    assert logins(store) == []
    await store.write(accounts.create, "cyd")
    assert logins(store) == ["cyd"]


async def test_a_connection_that_cannot_even_be_rolled_back_is_replaced(store: Store) -> None:
    spy = Spy(store)
    await store.write(accounts.create, "ada")
    spy.failing |= {"commit": Unavailable("gone"), "rollback": RuntimeError("gone for good")}
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(Unavailable):
            await store.write(accounts.create, "bob")
        await store.write(accounts.create, "cyd")
    assert spy.opened == 2
    assert logins(store) == ["ada", "cyd"]


async def test_a_database_that_cannot_be_opened_is_tried_again(store: Store) -> None:
    spy = Spy(store)
    spy.failing["session"] = Unusable("too many open files")
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(Unavailable, match="too many open files"):
            await store.write(accounts.create, "ada")
        await store.write(accounts.create, "bob")
    assert logins(store) == ["bob"]


async def test_closing_commits_queued_writes(store: Store, opened: Callable[[], Store]) -> None:
    gate = Gate()
    with gate.closed():
        tasks = [asyncio.ensure_future(store.write(gate))]
        await asyncio.to_thread(gate.reached)
        tasks += [asyncio.ensure_future(store.write(accounts.create, f"u{at}")) for at in range(5)]
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(store.close())
        await asyncio.sleep(0)
    await closing
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*tasks)
    assert len(logins(opened())) == 5


async def test_a_closed_store_refuses_to_write(store: Store) -> None:
    await store.write(accounts.create, "ada")
    await store.close()
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(Unavailable):
            await store.write(accounts.create, "bob")


async def test_closing_twice_is_no_error(store: Store) -> None:
    await store.write(accounts.create, "ada")
    await store.close()
    await store.close()


async def test_a_caller_that_goes_away_loses_nothing_and_breaks_nothing(store: Store) -> None:
    gate = Gate()
    called: list[str] = []
    with gate.closed():
        first = asyncio.ensure_future(store.write(gate))
        await asyncio.to_thread(gate.reached)
        leaving = asyncio.ensure_future(
            store.write(create_then_call, "ada", lambda: called.append("ada"))
        )
        staying = asyncio.ensure_future(store.write(accounts.create, "bob"))
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
    assert await first == "through"
    assert (await staying)["login"] == "bob"
    assert logins(store) == ["ada", "bob"]
    assert called == ["ada"]


async def test_a_note_alone_need_not_wait_for_the_disk(store: Store) -> None:
    spy = Spy(store)
    await store.write_relaxed(accounts.create, "ada")
    await store.write(accounts.create, "bob")
    await store.batch(create_all, "cyd")
    await asyncio.gather(
        store.write_relaxed(accounts.create, "dan"), store.write_relaxed(accounts.create, "eve")
    )
    assert spy.begun == [False, True, True, False]


async def test_a_note_among_writes_is_as_durable_as_they_are(store: Store) -> None:
    spy = Spy(store)
    await asyncio.gather(
        store.write_relaxed(accounts.create, "ada"), store.write(accounts.create, "bob")
    )
    assert spy.begun == [True]


class BlockedAtFirst:
    """Creates accounts, and is blocked by another transaction at its first calls."""

    def __init__(self, *errors: StoreError) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self, db: Connection, *names: str) -> None:
        self.calls += 1
        for name in names:
            accounts.create(db, name)
        if self.errors:
            raise self.errors.pop(0)

    def each(self, db: Connection, names: Sequence[str]) -> list[None]:
        self(db, *names)
        return [None for _ in names]


async def test_a_blocked_write_leaves_its_group(store: Store) -> None:
    spy, blocked = Spy(store), BlockedAtFirst(Locked("busy"))
    await asyncio.gather(
        store.write(accounts.create, "ada"),
        store.write(blocked, "bob"),
        store.write(accounts.create, "cyd"),
    )
    assert logins(store) == ["ada", "bob", "cyd"]
    assert (spy.commits, blocked.calls) == (2, 2)


async def test_a_blocked_batch_leaves_its_group_as_a_whole(store: Store) -> None:
    spy, blocked = Spy(store), BlockedAtFirst(Locked("busy"))
    each = blocked.each
    await asyncio.gather(
        store.batch(each, "ada"), store.write(accounts.create, "bob"), store.batch(each, "cyd")
    )
    assert logins(store) == ["ada", "bob", "cyd"]
    assert (spy.commits, blocked.calls) == (2, 2)


async def test_a_blocked_item_leaves_the_batch_that_failed(store: Store) -> None:
    # The batch fails twice as a whole, and then its first item alone.
    blocked = BlockedAtFirst(Missing("one"), Missing("one"), Locked("busy"))
    each = blocked.each
    await asyncio.gather(store.batch(each, "ada"), store.batch(each, "bob"))
    assert logins(store) == ["ada", "bob"]
    assert blocked.calls == 5


@pytest.mark.parametrize("error", [Contended, Locked])
async def test_a_write_alone_that_a_conflict_undid_runs_again(
    store: Store, error: type[Contended]
) -> None:
    blocked = BlockedAtFirst(error("busy"), error("busy"))
    await store.write(blocked, "ada")
    store.write_sync(BlockedAtFirst(error("busy"), error("busy")), "bob")
    assert logins(store) == ["ada", "bob"]
    assert blocked.calls == 3


async def test_a_write_is_given_up_after_some_conflicts(store: Store) -> None:
    many = [Contended("busy") for _ in range(MOST_TRIES)]
    with pytest.raises(Contended):
        await store.write(BlockedAtFirst(*many), "ada")
    with pytest.raises(Contended):
        store.write_sync(BlockedAtFirst(*many), "ada")
    assert logins(store) == []


async def test_a_blocked_write_that_fails_takes_the_other_blocked_ones_along(store: Store) -> None:
    late = BlockedAtFirst(Locked("busy"), Unavailable("it took too long"))
    after = BlockedAtFirst(Locked("busy"))
    answers = await asyncio.gather(
        store.write(accounts.create, "ada"),
        store.write(late, "bob"),
        store.write(after, "cyd"),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers[1:]] == [Unavailable, Unavailable]
    assert (logins(store), after.calls) == (["ada"], 1)


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
@pytest.mark.parametrize("neighbour", [True, False])
async def test_a_write_that_a_conflict_failed_runs_again(store: Store, neighbour: bool) -> None:
    tries: list[int] = []
    others = [store.write(accounts.create, "ada")] if neighbour else []
    await asyncio.gather(*others, store.write(refer_to_a_deleted_one, tries))
    assert logins(store) == ["ada", "owner"][not neighbour :]
    assert store.write_sync(lambda db: db.value("SELECT count(*) FROM repository")) == 1


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_a_write_that_never_passes_fails_with_its_error(store: Store) -> None:
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        await store.write(repositories.create, NOBODY, "engine")
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        store.write_sync(repositories.create, NOBODY, "engine")
    assert await store.write(accounts.create, "ada")


@embedded("its writers exclude each other")
async def test_an_embedded_write_that_fails_runs_once(store: Store) -> None:
    tries: list[int] = []
    with pytest.raises(sqlite3.IntegrityError):
        await store.write(refer_to_a_deleted_one, tries)
    assert len(tries) == 1


def insert_into_damage(db: Connection) -> None:
    db.execute("INSERT INTO damaged (id) VALUES (1)")


@embedded("a server's damaged page does not end a transaction")
async def test_a_write_that_meets_damage_takes_no_neighbour_along(store: Store) -> None:
    assert isinstance(store.engine, SqliteEngine)
    path = store.engine.path
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE damaged (id INTEGER)")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        named = "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_master"
        root, size = raw.execute(f"{named} WHERE name = 'damaged'").fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"Z" * size)
    spy = Spy(store)
    both = await asyncio.gather(
        store.write(create_then_call, "ada", lambda: None),
        store.write(insert_into_damage),
        store.write(create_then_call, "bob", lambda: None),
        return_exceptions=True,
    )
    assert isinstance(both.pop(1), Damaged)
    assert both == ["ada", "bob"] == logins(store)
    assert spy.commits == 2


@pytest.mark.parametrize(("room", "tries"), [(10, 6), (0, 4)])
async def test_a_write_without_room_takes_no_smaller_one_along(
    store: Store, room: int, tries: int
) -> None:
    tried = []

    def write(db: Connection, sizes: list[int]) -> list[int]:
        tried.append(sizes)
        if sum(sizes) > room:
            raise Full("the disk is full")
        return sizes

    given = [100, 1, 2, 90, 3, 95, 96, 97]
    both = await asyncio.gather(
        *(store.batch(write, size, weight=size) for size in given), return_exceptions=True
    )
    for size, result in zip(given, both, strict=True):
        assert isinstance(result, Full) if size > room else result == size
    assert len(tried) == tries


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_synchronous_write_that_a_conflict_failed_runs_again(store: Store) -> None:
    store.write_sync(refer_to_a_deleted_one, [])
    assert logins(store) == ["owner"]


def test_a_synchronous_write_commits_before_it_returns(store: Store) -> None:
    seen: list[list[str]] = []
    assert store.write_sync(create_then_call, "ada", lambda: seen.append(logins(store))) == "ada"
    assert seen == [["ada"]]
    with pytest.raises(Missing):
        store.write_sync(create_then_fail, "bob", lambda: seen.append([]))
    assert logins(store) == ["ada"]
    assert len(seen) == 1
