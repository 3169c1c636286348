"""Several processes on one PostgreSQL database. Each store in a test stands for a process."""

import asyncio
import math
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from engines import engine_url
from issue_world import Platform, issue
from long_texts import incompressible
from postgres_databases import database
from racing import HERE, at_once, sql, waits
from store_world import START, FakeNotifier, World, make_world
from transactions import transaction
from waiting import PATIENCE, until, wait_until

from store import Connection, Store, open_store
from store.accounts import accounts, logins
from store.assistant import assistant_seats
from store.clock import SECOND, Clock, MovableClock, iso
from store.database.migrations import steps
from store.database.postgres import clock as postgres_clock
from store.database.postgres import history, pool
from store.database.postgres.clock import PostgresClock
from store.database.postgres.connections import PostgresSession
from store.database.postgres.listen import listen
from store.database.postgres.notify import CHANNEL, PostgresNotifier, format_hooks
from store.database.postgres.pool import ErrorTrackingConnection
from store.delivery import (
    attempts,
    deliveries,
    delivery_queries,
    events,
    fan_out,
    hook_removal,
    leases,
    retention,
)
from store.delivery.outcomes import attempt_outcomes
from store.delivery.replays import replay_deliveries
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import Invalid, Missing, Unavailable
from store.hooks import hook_ordering, hook_queries, hooks
from store.issues import comment_changes, issue_changes, issues, labels
from store.jobs import jobs
from store.ordering.delivery_states import DELIVERED, WAITING
from store.projection import projection_table
from worker.http.answer import ExchangeResult
from worker.service import Worker
from worker.settings import WorkerSettings
from worker.tuning import Tuning

LEASE = 30 * SECOND
PLANS = [jobs.JobSchedule("prune", "every 600 s", 0)]
Opened = Callable[[], Store]


@pytest.fixture
def url() -> Iterator[str]:
    with engine_url("postgres") as named:
        yield named


class TestLeases:
    def test_deliveries_of_a_dead_worker_are_taken_over(
        self, world: World, other: Store, clock: MovableClock
    ) -> None:
        hook = world.hook("push")["id"]
        for number in range(5):
            world.arrive(f"g-{number}")
        dead = world.lease(LEASE)
        held = {one.id for one in world.claim(dead, hook)}
        successor = other.write_sync(leases.acquire, "successor", LEASE)
        clock.advance(29)
        assert other.write_sync(leases.renew, successor, LEASE)
        assert other.write_sync(leases.release_expired) == 0
        assert other.write_sync(deliveries.claim, [hook], successor, 10)[0] == []
        clock.advance(1)
        assert other.write_sync(leases.release_expired) == 5
        taken, _ = other.write_sync(deliveries.claim, [hook], successor, 10)
        assert {one.id for one in taken} == held

    def test_a_worker_that_comes_back_late_overwrites_nothing(
        self, world: World, other: Store, clock: MovableClock
    ) -> None:
        hook = world.hook("push")["id"]
        world.arrive()
        late = world.lease(LEASE)
        (one,) = world.claim(late, hook)
        clock.advance(30)
        other.write_sync(leases.release_expired)
        successor = other.write_sync(leases.acquire, "successor", LEASE)
        other.write_sync(deliveries.claim, [hook], successor, 10)
        failed = world.failure(late, one)
        world.store.write_sync(attempt_outcomes.record, [failed])
        assert (world.row(one.id)["state"], world.row(one.id)["lease_id"]) == (0, successor)
        other.write_sync(attempt_outcomes.record, [world.outcome(successor, one)])
        delivered = world.row(one.id)
        world.store.write_sync(attempt_outcomes.record, [failed])
        assert world.store.write_sync(deliveries.release, late, [one.id]) == 0
        assert world.store.write_sync(deliveries.mark_dead, late, [one.id], "late") == 0
        assert world.row(one.id) == delivered
        assert delivered["state"] == 1

    def test_one_that_is_just_prolonged_is_not_ended(
        self, world: World, other: Store, clock: MovableClock, url: str
    ) -> None:
        hook = world.hook("push")["id"]
        world.arrive()
        lease = world.lease(LEASE)
        world.claim(lease, hook)
        clock.advance(29)
        with ThreadPoolExecutor(1) as thread:
            with transaction(world.store) as db:
                assert leases.renew(db, lease, LEASE)
                clock.advance(2)
                ending = thread.submit(other.write_sync, leases.release_expired)
                wait_until(lambda: waits(url), "the release of expired leases")
            assert ending.result(PATIENCE) == 0
        assert [row["lease_id"] for row in world.rows()] == [lease]

    def test_one_that_is_just_ended_is_not_prolonged(
        self, world: World, other: Store, clock: MovableClock, url: str
    ) -> None:
        hook = world.hook("push")["id"]
        world.arrive()
        lease = world.lease(LEASE)
        world.claim(lease, hook)
        clock.advance(30)
        slow = MovableClock(clock.now() - SECOND)
        other.clock = slow
        with ThreadPoolExecutor(1) as thread:
            with transaction(world.store) as db:
                assert leases.release_expired(db) == 1
                renewing = thread.submit(other.write_sync, leases.renew, lease, LEASE)
                wait_until(lambda: waits(url), "the renewal")
            assert renewing.result(PATIENCE) is False


class TestClaims:
    def test_claims_of_concurrent_workers_share_no_delivery(
        self, world: World, opened: Opened
    ) -> None:
        hook_ids = [world.hook("push")["id"] for _ in range(3)]
        world.store.write_sync(events.accept_all, [world.arrival(f"g-{at}") for at in range(300)])
        stores = [world.store, opened(), opened(), opened()]

        def work(store: Store) -> list[int]:
            lease = store.write_sync(leases.acquire, "one of many", LEASE)
            taken: list[int] = []
            while True:
                claimed, due = store.write_sync(deliveries.claim, hook_ids, lease, 7)
                taken += [one.id for one in claimed]
                store.write_sync(
                    attempt_outcomes.record, [world.outcome(lease, one) for one in claimed]
                )
                if not due:
                    return taken

        taken = at_once(*(lambda store=store: work(store) for store in stores))
        assert sorted(chain.from_iterable(taken)) == [row["id"] for row in world.rows()]
        assert {row["state"] for row in world.rows()} == {1}

    def test_concurrent_claims_do_not_wait_for_each_other(self, world: World, other: Store) -> None:
        hook = world.hook("push")["id"]
        for number in range(4):
            world.arrive(f"g-{number}")
        mine, theirs = world.lease(), world.lease()
        with transaction(world.store) as db:
            first, _ = deliveries.claim(db, [hook], mine, 3)
            second, _ = other.write_sync(deliveries.claim, [hook], theirs, 3)
        assert len(first) == 3
        assert len(second) == 1

    def test_uncommitted_claims_of_a_lost_connection_are_undone(
        self, world: World, other: Store, url: str
    ) -> None:
        hook = world.hook("push")["id"]
        world.arrive()
        lease = world.lease()

        def die(db: Connection) -> None:
            deliveries.claim(db, [hook], lease, 3)
            ((pid,),) = sql(url, f"SELECT pid {HERE} state LIKE 'idle in%'")
            sql(url, f"SELECT pg_terminate_backend({pid})")

        with pytest.raises(Unavailable):
            world.store.write_sync(die)
        claimed, _ = other.write_sync(deliveries.claim, [hook], world.lease(), 3)
        assert len(claimed) == 1


class TestRecording:
    def test_outcomes_in_opposite_orders_do_not_deadlock(self, world: World, other: Store) -> None:
        """The transactions do not deadlock on the rows of hooks or deliveries."""
        one, two = world.hook("push")["id"], world.hook("push")["id"]
        for round_ in range(10):
            for at in range(20):
                world.arrive(f"g-{round_}-{at}")
            mine = world.lease()
            claimed = world.claim(mine, one, two)
            first = [self._outcome(world, mine, x, x.hook_id == one) for x in claimed[::2]]
            second = [self._outcome(world, mine, x, x.hook_id == two) for x in claimed[1::2]]
            late, reverse = [*first, *second], [*first, *second][::-1]
            found = at_once(
                lambda given=late: world.store.write_sync(attempt_outcomes.record, given),
                lambda given=reverse: other.write_sync(attempt_outcomes.record, given),
            )
            assert found == [set(), set()]

    def _outcome(self, world: World, lease: int, claimed: Any, good: bool) -> Any:
        return world.outcome(lease, claimed) if good else world.failure(lease, claimed)

    def test_a_hook_that_works_again_is_not_disabled(
        self, world: World, other: Store, clock: MovableClock, url: str
    ) -> None:
        hook = world.hook("push")["id"]
        for number in range(3):
            world.arrive(f"g-{number}")
        lease = world.lease()
        first, second, third = world.claim(lease, hook)
        world.store.write_sync(attempt_outcomes.record, [world.failure(lease, first)])
        clock.advance(60)
        last_straw = world.failure(lease, third, disable_after=60 * SECOND)
        with ThreadPoolExecutor(1) as thread:
            with transaction(world.store) as db:
                assert attempt_outcomes.record(db, [world.outcome(lease, second)]) == set()
                disabling = thread.submit(other.write_sync, attempt_outcomes.record, [last_straw])
                wait_until(lambda: waits(url), "the outcome that would disable the hook")
            assert disabling.result(PATIENCE) == set()
        row = world.store.read_sync(hooks.by_id, hook)
        assert row is not None
        assert (row["active"], row["disabled_reason"]) == (1, None)


class TestAccepting:
    def test_the_same_event_through_two_hubs(self, world: World, other: Store) -> None:
        world.hook("push")
        for number in range(20):
            arrival = world.arrival(f"g-{number}")
            found = at_once(
                lambda given=arrival: world.store.write_sync(events.accept_all, [given]),
                lambda given=arrival: other.write_sync(events.accept_all, [given]),
            )
            first, second = sorted((one for (one,) in found), key=lambda one: one.duplicate)
            assert (first.duplicate, second.duplicate) == (False, True)
            assert (first.event_id, first.deliveries) == (second.event_id, second.deliveries)
        assert len(world.rows()) == 20

    def test_two_events_of_one_id_through_two_hubs(self, world: World, other: Store) -> None:
        world.hook("push")
        for number in range(20):
            one, two = (world.arrival(f"g-{number}", body=body) for body in (b"{}", b"[]"))
            found = at_once(
                lambda given=one: world.store.write_sync(events.accept, [given]),
                lambda given=two: other.write_sync(events.accept, [given]),
            )
            assert sorted(type(answer).__name__ for (answer,) in found) == ["Conflict", "Receipt"]
        assert len(world.rows()) == 20

    async def test_batches_that_wait_for_each_other_are_both_taken(
        self, world: World, other: Store
    ) -> None:
        world.hook("push")
        batch = [world.arrival(f"g-{at}") for at in range(400)]
        found = await asyncio.gather(
            world.store.write(events.accept_all, batch),
            other.write(events.accept_all, batch[::-1]),
        )
        assert sum(not one.duplicate for receipts in found for one in receipts) == 400
        assert len(world.rows()) == 400

    def test_an_id_is_no_duplicate_if_its_first_sender_failed(
        self, world: World, other: Store, url: str
    ) -> None:
        world.hook("push")
        arrival = world.arrival()
        with ThreadPoolExecutor(1) as thread:
            session = world.store.engine.session()
            session.begin(world.now, write=True)
            events.accept_all(session.db, [arrival])
            second = thread.submit(other.write_sync, events.accept_all, [arrival])
            wait_until(lambda: waits(url), "the second sender")
            session.close()
            (receipt,) = second.result(PATIENCE)
        assert not receipt.duplicate

    def test_a_hook_deleted_meanwhile_is_offered_without_a_version(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world.hook("push")
        notifier = world.store.notifier = FakeNotifier(held=world.lease())
        monkeypatch.setattr(fan_out, "versions", lambda db, ids: {})
        assert world.arrive().deliveries == 1
        assert [version for _, _, version in notifier.offers[0].deliveries] == [0]


class TestRetention:
    @pytest.fixture
    def deliver(self, world: World) -> Callable[[Connection], int]:
        """Delivers an event once more that retention may delete."""
        hook = world.hook("push")
        receipt = world.arrive()
        world.store.write_sync(lambda db: db.execute("UPDATE delivery SET state = 1"))
        world.clock.advance(10)
        ids = receipt.event_id, hook["id"], world.repo["id"]
        return lambda db: deliveries.redeliver(db, *ids)

    @pytest.mark.parametrize("drop", [retention.drop_bodies, retention.drop_events])
    def test_keeps_an_event_that_is_just_redelivered(
        self,
        world: World,
        other: Store,
        url: str,
        deliver: Callable[[Connection], int],
        drop: Callable[..., retention.Step],
    ) -> None:
        with ThreadPoolExecutor(1) as thread:
            with transaction(world.store) as db:
                made = deliver(db)
                step = thread.submit(other.write_sync, drop, world.now, 10)
                wait_until(lambda: waits(url), "the deletion")
            assert step.result(PATIENCE).dropped == 0
        (event,) = sql(url, "SELECT body FROM event")
        assert event[0] is not None
        assert made in {row["id"] for row in world.rows()}

    @pytest.mark.parametrize("drop", [retention.drop_bodies, retention.drop_events])
    def test_leaves_nothing_to_redeliver(
        self,
        world: World,
        other: Store,
        url: str,
        deliver: Callable[[Connection], int],
        drop: Callable[..., retention.Step],
    ) -> None:
        with ThreadPoolExecutor(1) as thread:
            with transaction(world.store) as db:
                assert drop(db, world.now, 10).dropped == 1
                made = thread.submit(other.write_sync, deliver)
                wait_until(lambda: waits(url), "the redelivery")
            with pytest.raises(Invalid):
                made.result(PATIENCE)

    @pytest.mark.usefixtures("deliver")
    @pytest.mark.parametrize("drop", [retention.drop_bodies, retention.drop_events])
    def test_keeps_an_event_that_is_just_replayed(
        self, world: World, other: Store, url: str, drop: Callable[..., retention.Step]
    ) -> None:
        with ThreadPoolExecutor(1) as thread:
            with transaction(world.store) as db:
                assert replay(db) == 1
                step = thread.submit(other.write_sync, drop, world.now, 10)
                wait_until(lambda: waits(url), "the deletion")
            assert step.result(PATIENCE).dropped == 0
        (event,) = sql(url, "SELECT body FROM event")
        assert event[0] is not None
        assert [row["state"] for row in world.rows()] == [DELIVERED, WAITING]

    @pytest.mark.usefixtures("deliver")
    @pytest.mark.parametrize("drop", [retention.drop_bodies, retention.drop_events])
    def test_leaves_nothing_to_replay(
        self, world: World, other: Store, url: str, drop: Callable[..., retention.Step]
    ) -> None:
        with ThreadPoolExecutor(1) as thread:
            with transaction(world.store) as db:
                assert drop(db, world.now, 10).dropped == 1
                made = thread.submit(other.write_sync, replay)
                wait_until(lambda: waits(url), "the replay")
            assert made.result(PATIENCE) == 0
        assert WAITING not in {row["state"] for row in world.rows()}


def replay(db: Connection) -> int:
    """Deliver every event once more. Return the number of deliveries."""
    newest = db.value("SELECT max(id) FROM event")
    return replay_deliveries.create(db, ReplaySelection(), 0, newest, 10)[0]


class TestHooks:
    def test_one_that_two_hubs_make_at_once_is_made_once(self, world: World, other: Store) -> None:
        for number in range(10):
            given = {"url": f"https://receiver.example/{number}", "events": ["push"]}
            found = at_once(
                *(
                    lambda store=store, given=given: store.write_sync(
                        hooks.create, world.repo["id"], **given
                    )
                    for store in (world.store, other)
                )
            )
            assert sorted(isinstance(one, Invalid) for one in found) == [False, True]
        assert len(world.store.read_sync(hook_queries.every)) == 10

    def test_two_subscriptions_of_one_callback_at_once(self, world: World, other: Store) -> None:
        """Each does what POST /hub does: find the callback's hook, then create or update it."""

        def subscribe(db: Connection, callback: str, event: str) -> None:
            hook = hooks.by_url(db, world.repo["id"], callback)
            if hook is None:
                hooks.create(db, world.repo["id"], url=callback, events=[event])
            else:
                hooks.update(db, hook, events=[*hook["events"], event])

        for number in range(10):
            callback = f"https://receiver.example/{number}"
            found = at_once(
                lambda to=callback: world.store.write_sync(subscribe, to, "push"),
                lambda to=callback: other.write_sync(subscribe, to, "star"),
            )
            assert found == [None, None]
        made = world.store.read_sync(hook_queries.every)
        assert len(made) == 10
        assert all(sorted(hook["events"]) == ["push", "star"] for hook in made)

    def test_changes_by_two_hubs_both_count(self, world: World, other: Store) -> None:
        """Both hubs have read the hook before either of them changes it."""
        hook = world.hook("push")
        world.store.write_sync(hooks.update, hook, events=["star"])
        changed = other.write_sync(hooks.update, hook, content_type="json")
        assert (changed["events"], changed["content_type"]) == (["star"], "json")

    def test_one_that_is_deleted_meanwhile_does_not_come_back(
        self, world: World, other: Store
    ) -> None:
        hook = world.hook("push")
        world.store.write_sync(hook_removal.delete, hook)
        with pytest.raises(Missing):
            other.write_sync(hooks.update, hook, url="https://receiver.example/new")
        assert world.arrive().deliveries == 0


def test_a_job_is_begun_by_one_of_many(world: World, opened: Opened, clock: MovableClock) -> None:
    stores = [world.store, opened(), opened(), opened()]
    world.store.write_sync(jobs.save_schedules, PLANS)
    for _ in range(5):
        taken = at_once(
            *(
                lambda store=store: store.write_sync(jobs.claim, "prune", "a worker")
                for store in stores
            )
        )
        (row,) = [row for row in taken if row is not None]
        world.store.write_sync(jobs.complete, row, clock.now() + 600 * SECOND)
        clock.advance(600)


# Wake-ups.


@pytest.fixture
async def heard(store: Store) -> AsyncIterator[list[list[int]]]:
    """The wake-ups that the first store receives from other stores: lists of hook ids."""
    reported: list[list[int]] = []
    end = await store.listen(reported.append)
    yield reported
    end()


class TestIssues:
    """An operation and the projector change one issue at the same time."""

    @pytest.fixture
    def earlier(self, world: World) -> Callable[[Connection], None]:
        """Projects an event that was accepted before the operation."""
        Platform(world).report("issues", "opened", issue=issue())
        world.clock.advance(10)
        given = issue(labels=[{"name": "theirs"}], updated_at=iso(world.now))
        event = {
            "id": 1,
            "name": "issues",
            "action": "labeled",
            "repo_id": world.repo["id"],
            "source_id": 0,
            "received_at": world.now,
        }
        world.clock.advance(2)
        return lambda db: projection_table.project(db, dict(event), {"issue": given})

    def operate(self, db: Connection, world: World) -> None:
        row = issues.get(db, world.repo["id"], 1)
        assert row is not None
        row, by = issue_changes.lock(db, row), world.user["id"]
        held = labels.of_issues(db, [row["id"]]).get(row["id"], [])
        wanted = [*held, labels.create(db, row["repo_id"], "ours")]
        issue_changes.set_labels(db, row, by, wanted)
        comment_changes.create(db, world.repo, row, by, "Hm", association="NONE")

    @pytest.mark.parametrize("first", ["operation", "event"])
    def test_neither_change_is_lost(
        self,
        world: World,
        other: Store,
        url: str,
        earlier: Callable[[Connection], None],
        first: str,
    ) -> None:
        calls = [lambda db: self.operate(db, world), earlier]
        one, two = calls if first == "operation" else reversed(calls)
        with ThreadPoolExecutor(1) as thread:
            with transaction(world.store) as db:
                one(db)
                after = thread.submit(other.write_sync, two)
                wait_until(lambda: waits(url), "the other change of the issue")
            after.result(PATIENCE)
        row = Platform(world).issue()
        held = world.store.read_sync(labels.of_issues, [row["id"]])[row["id"]]
        assert [one["name"] for one in held] == ["ours", "theirs"]
        assert row["comments"] == 1


class TestGroups:
    """A group of writes, one of which another process blocks."""

    @pytest.mark.parametrize("kind", ["name", "row"])
    async def test_leaves_a_blocked_write_out(self, world: World, other: Store, kind: str) -> None:
        hook_id = world.hook("push", options={"ordering": "hook"})["id"]

        def lock(db: Connection) -> None:
            if kind == "name":
                db.alone("a name")
            else:
                hook_ordering.lock(db, [hook_id])

        with transaction(other) as db:
            lock(db)
            async with asyncio.timeout(PATIENCE):
                written = asyncio.create_task(world.store.write(accounts.create, "bob"))
                blocked = [asyncio.create_task(world.store.write(lock)) for _ in range(2)]
                await written
                await asyncio.sleep(0.05)
            assert not any(task.done() for task in blocked)
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*blocked)

    async def test_waits_for_a_locked_table_once(self, tmp_path: Path) -> None:
        """`VACUUM FULL` and other commands of an administrator lock a table for long."""
        seen: list[str] = []

        def look(db: Connection) -> None:
            patience = "SHOW lock_timeout"
            seen.append(db.value(patience))
            db.before_commit(lambda db, items: seen.append(db.value(patience)), 1)

        def add(db: Connection, login: str) -> None:
            accounts.create(db, login)

        with database() as named, psycopg.connect(named) as raw:
            store = open_store(f"{named}&options=-c%20lock_timeout%3D99ms", data_dir=tmp_path)
            raw.execute("LOCK TABLE account")
            writes = [store.write(look), *(store.write(add, name) for name in "abc")]
            async with asyncio.timeout(PATIENCE):
                done = await asyncio.gather(*writes, store.write(look), return_exceptions=True)
            await store.close()
        assert [type(each) for each in done[1:4]] == [Unavailable] * 3
        assert done[0] is done[4] is None
        assert seen == ["99ms", "10ms", "99ms", "99ms"]

    async def test_waits_for_the_locks_before_its_commit(self, world: World, other: Store) -> None:
        calls: list[int] = []

        def count(db: Connection) -> None:
            calls.append(1)
            db.before_commit(lambda db, items: db.alone("a name"), 1)

        with transaction(other) as db:
            db.alone("a name")
            tasks = [asyncio.create_task(world.store.write(count)) for _ in range(2)]
            await asyncio.sleep(0.1)
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*tasks)
        assert len(calls) == 2


class TestSeats:
    def test_a_user_given_a_seat_twice_has_one(self, world: World, other: Store, url: str) -> None:
        organization_id = world.store.write_sync(accounts.create, "acme", kind="Organization")["id"]
        given: list[int] = []

        def give(db: Connection) -> list[Any]:
            given.append(1)
            user_id = world.user["id"]
            return assistant_seats.give_users(db, organization_id, [user_id])[0]

        with ThreadPoolExecutor(1) as thread:
            with transaction(world.store) as db:
                assert len(give(db)) == 1
                second = thread.submit(other.write_sync, give)
                wait_until(lambda: waits(url), "the second one")
            assert second.result(PATIENCE) == []
        assert len(given) == 2


class TestWakeUp:
    async def test_reaches_another_process(
        self, world: World, other: Store, heard: list[list[int]]
    ) -> None:
        hook = world.hook("push")["id"]
        await other.write(events.accept_all, [world.arrival()])
        await until(lambda: heard == [[hook]], "the wake-up")

    async def test_comes_again_after_the_connection_was_lost(
        self, world: World, other: Store, heard: list[list[int]], url: str
    ) -> None:
        hook = world.hook("push")["id"]
        ears = f"SELECT pg_terminate_backend(pid) {HERE} query LIKE 'LISTEN%'"
        assert sql(url, ears) == [(True,)]
        await until(lambda: heard == [[]], "the wake-up after the new connection")
        await other.write(events.accept_all, [world.arrival()])
        await until(lambda: heard[1:] == [[hook]], "the wake-up")

    async def test_ignores_other_messages_on_the_channel(
        self, world: World, other: Store, heard: list[list[int]], url: str
    ) -> None:
        hook = world.hook("push")["id"]
        for said in ("hello", "5", '{"a": 1}', '["a"]', ""):
            sql(url, f"SELECT pg_notify('{CHANNEL}', '{said}')")
        await other.write(events.accept_all, [world.arrival()])
        await until(lambda: heard == [[hook]], "the wake-up")

    async def test_a_wake_up_of_too_many_hooks_names_none(
        self, other: Store, heard: list[list[int]]
    ) -> None:
        assert format_hooks({1, 2}) == "[1,2]"
        assert format_hooks(set(range(501))) == "[]"
        long = set(range(10**18, 10**18 + 450))
        assert format_hooks(long) == "[]"
        other.notifier.wake(long)
        await until(lambda: heard == [[]], "the wake-up")

    async def test_a_missing_connection_is_logged_and_no_error(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with asyncio.timeout(PATIENCE):
            end = await listen("host=/nowhere", lambda hooks: None)
        end()
        assert [record.message[:24] for record in caplog.records] == ["no notifications for now"]

    def test_a_missing_notify_function_does_not_stop_the_notifier(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        # The store has new connections. A connection that has notified often has prepared the
        # statement, and would not notice that the function was renamed.
        with database() as named:
            store = open_store(named, data_dir=tmp_path)
            herald = PostgresNotifier(store.engine.connections)  # type: ignore[attr-defined]
            sql(named, "ALTER FUNCTION pg_catalog.pg_notify(text, text) RENAME TO unknown_notify")
            for _ in range(2):
                herald.wake([1])
                wait_until(lambda: len(caplog.records) == 1, "the warning")
            sql(named, "ALTER FUNCTION pg_catalog.unknown_notify(text, text) RENAME TO pg_notify")
            herald.wake([1])
            wait_until(lambda: not herald.failing, "the notification that was sent")
            herald.close()
            store.shut()
        assert [record.message[:26] for record in caplog.records] == ["notifications are not sent"]

    def test_ends_at_once(self, store: Store) -> None:
        for _ in range(20):
            before = {*threading.enumerate()}
            herald = PostgresNotifier(store.engine.connections)  # type: ignore[attr-defined]
            herald.wake([1])
            (thread,) = {*threading.enumerate()} - before
            herald.close()
            thread.join(PATIENCE)
            assert not thread.is_alive()


# Connections.


class TestConnections:
    def test_ended_connections_are_replaced_unnoticed(self, store: Store, url: str) -> None:
        for use in (store.write_sync, store.read_sync):
            pid = use(lambda db: db.value("SELECT pg_backend_pid()"))
            assert sql(url, f"SELECT pg_terminate_backend({pid}, 30000)") == [(True,)]
            assert use(lambda db: db.value("SELECT pg_backend_pid()")) != pid

    def test_healthy_connections_are_not_checked_before_use(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pool, "PLAN_SECONDS", math.inf)
        store.read_sync(lambda db: None)
        asked = executed(monkeypatch)
        store.write_sync(lambda db: None)
        store.read_sync(lambda db: None)
        assert asked == ["BEGIN", "COMMIT"]

    def test_too_few_are_not_explained_by_an_error_from_before(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with suppress(psycopg.OperationalError):
            ErrorTrackingConnection.connect("host=/nowhere")
        monkeypatch.setattr(pool, "PATIENCE", 0.5)
        with database() as named, ExitStack() as stack:
            store = open_store(named, data_dir=tmp_path)
            stack.callback(store.shut)
            many = (transaction(store) for _ in range(pool.MOST + 1))
            with pytest.raises(Unavailable, match="all connections are in use"):
                any(stack.enter_context(each) is None for each in many)

    def test_keep_the_plans_of_their_statements(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pool, "PLAN_SECONDS", math.inf)
        kept = "SELECT generic_plans FROM pg_prepared_statements WHERE statement LIKE :pattern"

        def ask(db: Connection) -> Any:
            for _ in range(20):
                db.value("SELECT login FROM account WHERE id = :id", id=1)
            return db.value(kept, pattern="SELECT login FROM account WHERE id%")

        assert store.write_sync(ask) > 0

    def test_keep_their_statements_after_a_rollback(self, store: Store) -> None:
        kept = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE :pattern"

        def refuse(db: Connection) -> None:
            for _ in range(20):
                db.value("SELECT login FROM account WHERE id = :id", id=1)
            accounts.create(db, "ada")
            raise Invalid("the caller has to undo all of it")

        with pytest.raises(Invalid):
            store.write_sync(refuse)
        pattern = "SELECT login FROM account WHERE id%"
        # The pool lends its connections in turn, so this reads from each of them.
        found = [
            store.read_sync(lambda db: db.value(kept, pattern=pattern)) for _ in range(pool.MOST)
        ]
        assert 1 in found
        assert store.read_sync(lambda db: accounts.by_login(db, "ada")) is None

    def test_make_their_plans_anew_after_a_while(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pool, "PLAN_SECONDS", 0.0)
        store.read_sync(lambda db: None)
        asked = executed(monkeypatch)
        store.write_sync(lambda db: None)
        assert asked == ["DISCARD PLANS", "BEGIN", "COMMIT"]


class TestSettingsOfTheDatabase:
    """Settings that suit other programs on the server do not change what the store promises."""

    @pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
    def test_a_lock_shows_the_rows_of_its_last_owner(self, tmp_path: Path, isolation: str) -> None:
        def wait(db: Connection) -> Any:
            db.alone("test")
            return accounts.by_login(db, "ada")

        with database() as named:
            _set(named, "default_transaction_isolation", isolation)
            store, other = (open_store(named, data_dir=tmp_path) for _ in range(2))
            with ThreadPoolExecutor(1) as thread:
                with transaction(store) as db:
                    db.alone("test")
                    accounts.create(db, "ada")
                    waiting = thread.submit(other.write_sync, wait)
                    wait_until(lambda: waits(named), "the lock")
                assert waiting.result(PATIENCE) is not None
            store.shut()
            other.shut()

    @pytest.mark.parametrize(
        ("default", "kept"), [("off", "on"), ("local", "local"), ("remote_apply", "remote_apply")]
    )
    def test_a_commit_is_on_disk(self, tmp_path: Path, default: str, kept: str) -> None:
        with database() as named:
            _set(named, "synchronous_commit", default)
            for url, expected in ((named, kept), (_with_option(named), "off")):
                store = open_store(url, data_dir=tmp_path)
                assert store.write_sync(lambda db: db.value("SHOW synchronous_commit")) == expected
                store.shut()

    async def test_a_listener_may_be_idle(self, tmp_path: Path) -> None:
        listening = f"SELECT pid {HERE} query LIKE 'LISTEN%'"
        with database() as named, psycopg.connect(named, autocommit=True) as before:
            # Only connections from now on have the limit. On a busy machine, others may be as idle.
            store = open_store(named, data_dir=tmp_path)
            _set(named, "idle_session_timeout", "100ms")
            end = await store.listen(lambda hooks: None)
            # On a busy machine, the limit may end its first tries, before it has lifted the limit.
            await until(lambda: before.execute(listening).fetchall(), "a listener")
            listeners = before.execute(listening).fetchall()
            with psycopg.connect(named, autocommit=True) as later:
                there = f"SELECT FROM pg_stat_activity WHERE pid = {later.info.backend_pid}"
                ended = lambda: not before.execute(there).fetchall()  # noqa: E731
                await until(ended, "the end of a later idle connection")
            assert len(listeners) == 1
            assert before.execute(listening).fetchall() == listeners
            end()
            await store.close()

    @pytest.mark.parametrize("code", ["25P03", "25P04"])
    def test_a_transaction_that_the_server_ends_may_be_tried_again(
        self, store: Store, code: str
    ) -> None:
        """A limit for idle or for all transactions ends the connection."""
        ended = f"DO $$ BEGIN RAISE 'ended' USING ERRCODE = '{code}'; END $$"
        with pytest.raises(Unavailable, match="cannot be used right now: ended"):
            store.write_sync(lambda db: db.execute(ended))

    def test_a_migration_has_no_limit_of_time(self, tmp_path: Path) -> None:
        limits = "SELECT name, setting FROM pg_settings WHERE name LIKE :named"

        def unlimited(db: Connection) -> dict[str, str]:
            db.no_timeout()
            return dict(db.tuples(limits, named="%_timeout"))

        with database() as named:
            if "transaction_timeout" in dict(sql(named, "SELECT name, '' FROM pg_settings")):
                _set(named, "transaction_timeout", "1h")
            store = open_store(named, data_dir=tmp_path)
            found = store.write_sync(unlimited)
            store.shut()
        assert found["lock_timeout"] == found["statement_timeout"] == "0"
        assert found.get("transaction_timeout", "0") == "0"


def _with_option(named: str) -> str:
    """Return a URL whose options ask for commits that a crash may undo."""
    return f"{named}&options=-c%20synchronous_commit%3Doff"


def _set(named: str, setting: str, value: str) -> None:
    """Set a default of a database."""
    name = sql(named, "SELECT current_database()")[0][0]
    sql(named, f"ALTER DATABASE {name} SET {setting} = '{value}'")


# A promoted replica has a new timeline. A restored dump has new tables.
PROMOTED = "UPDATE server_history SET server = replace(server, ' 00000001 ', ' 00000000 ')"
RESTORED = (
    "CREATE TABLE made_anew (LIKE event INCLUDING ALL); DROP TABLE event CASCADE;"
    " ALTER TABLE made_anew RENAME TO event"
)


class TestServerHistory:
    """Another server may lack the last rows, and processes still know their ids."""

    @pytest.mark.parametrize("change", [PROMOTED, RESTORED], ids=["promoted", "restored"])
    def test_another_server_gives_no_id_again(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture, change: str
    ) -> None:
        with database() as named:
            first = _added(named, tmp_path)
            assert _added(named, tmp_path) == first + 1
            assert caplog.records == []
            sql(named, change)
            after = _added(named, tmp_path)
            assert after == first + 1 + history.LEAST_LOST + 1
            assert _added(named, tmp_path) == after + 1
        (warning,) = caplog.records
        assert warning.message.startswith("another server continues this database")

    def test_a_table_skips_as_many_ids_as_it_has_given(self, tmp_path: Path) -> None:
        with database() as named:
            for given in (history.LEAST_LOST * 5, history.MOST_LOST * 5):
                sql(named, f"SELECT setval('account_id_seq', {given})")
                sql(named, "UPDATE server_history SET server = 'another'")
                assert _added(named, tmp_path) == given + min(given, history.MOST_LOST) + 1

    def test_tables_of_other_owners_keep_their_ids(self, tmp_path: Path) -> None:
        """Without the right to set them, no connection would be usable after a failover."""
        with database() as named:
            sql(named, "CREATE TABLE theirs (id BIGINT GENERATED BY DEFAULT AS IDENTITY)")
            sql(named, "ALTER TABLE theirs OWNER TO pg_monitor")
            sql(named, "UPDATE server_history SET server = 'another'")
            assert _added(named, tmp_path) == history.LEAST_LOST + 1
            assert sql(named, "INSERT INTO theirs DEFAULT VALUES RETURNING id") == [(1,)]

    def test_two_processes_skip_ids_once(self, tmp_path: Path) -> None:
        with database() as named:
            first = _added(named, tmp_path)
            sql(named, "UPDATE server_history SET server = 'another'")
            with psycopg.connect(named, autocommit=True) as raw, ThreadPoolExecutor(2) as threads:
                with raw.transaction():
                    raw.execute("SELECT 1 FROM server_history FOR UPDATE")
                    both = [threads.submit(_checked, named) for _ in range(2)]
                    wait_until(lambda: _waiting(named) == 2, "both processes")
                for one in both:
                    one.result(PATIENCE)
            assert _added(named, tmp_path) == first + history.LEAST_LOST + 1

    def test_a_connection_to_a_replica_serves_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The replica may take over, and then the connection could give ids."""
        monkeypatch.setattr(history, "SERVER", "SELECT true, NULL")
        with database() as named:
            store = open_store(named, data_dir=tmp_path)
            pids = [
                store.read_sync(lambda db: db.value("SELECT pg_backend_pid()")) for _ in range(3)
            ]
            store.shut()
        assert len({*pids}) == 3


def _added(named: str, folder: Path) -> int:
    """Return the id of an account that a new process adds."""
    store = open_store(named, data_dir=folder)
    try:
        login = f"account-{time.monotonic_ns()}"
        added: int = store.write_sync(accounts.create, login)["id"]
        return added
    finally:
        store.shut()


def _checked(named: str) -> None:
    with psycopg.connect(named, autocommit=True) as raw:
        history.ServerHistory().check(raw)


def _waiting(named: str) -> int:
    """Return how many statements wait for a lock."""
    (row,) = sql(named, f"SELECT count(*) {HERE} wait_event_type = 'Lock'")
    return int(row[0])


def executed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The statements that callers of the pool execute from now on.

    The pool's own threads can open a connection at any time, and prepare it.
    """
    statements: list[object] = []
    execute = ErrorTrackingConnection.execute

    def noted(self: ErrorTrackingConnection, query: Any, *given: Any, **how: Any) -> Any:
        if not threading.current_thread().name.startswith("pool-"):
            statements.append(query)
        return execute(self, query, *given, **how)

    monkeypatch.setattr(ErrorTrackingConnection, "execute", noted)
    return statements


# Workers.


class Network:
    """A `worker.http.transport.HttpSender` that answers every request with status 200."""

    def __init__(self) -> None:
        self.posts = 0
        self.worker: Worker

    async def post(self, *args: object, **given: object) -> ExchangeResult:
        self.posts += 1
        answer = ExchangeResult()
        answer.status, answer.address = 200, "192.0.2.1"
        return answer


@pytest.fixture
async def at_work() -> AsyncIterator[Callable[..., Any]]:
    """Returns a function that starts a worker on a store."""
    running: list[Worker] = []

    async def start(store: Store, poll_interval: float = 0.2) -> Network:
        network, tuning = Network(), Tuning(poll_interval=poll_interval)
        network.worker = Worker(store, WorkerSettings(), sender=network, tuning=tuning)
        running.append(network.worker)
        await network.worker.start()
        return network

    yield start
    for worker in running:
        await worker.stop()


def delivered(world: World) -> int:
    return world.store.read_sync(delivery_queries.count_by_state)["delivered"]


class TestWorkers:
    async def test_find_deliveries_without_a_wake_up(
        self, world: World, other: Store, at_work: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world.hook("push", url="https://receiver.example/")
        await at_work(other)
        monkeypatch.setattr(PostgresNotifier, "wake", lambda *args: None)
        await asyncio.to_thread(world.arrive)
        await until(lambda: delivered(world) == 1, "the delivery")

    @pytest.mark.parametrize("function", ["claim", "record"])
    async def test_work_on_after_a_commit_without_an_answer(
        self,
        world: World,
        other: Store,
        at_work: Any,
        monkeypatch: pytest.MonkeyPatch,
        function: str,
    ) -> None:
        """The connection is lost after the commit, before the worker gets the result."""
        world.hook("push", url="https://receiver.example/")
        network = await at_work(other)
        module = deliveries if function == "claim" else attempt_outcomes
        original, commit = getattr(module, function), PostgresSession.commit
        lost: list[PostgresSession] = []

        def losing(session: PostgresSession) -> None:
            commit(session)
            if session in lost:
                monkeypatch.setattr(PostgresSession, "commit", commit)
                raise Unavailable("the connection was lost")

        def call(db: Connection, *args: Any) -> Any:
            found = original(db, *args)
            if not lost and (function == "record" or found[0]):
                assert isinstance(db, PostgresSession)
                lost.append(db)
                monkeypatch.setattr(PostgresSession, "commit", losing)
            return found

        monkeypatch.setattr(module, function, call)
        await asyncio.to_thread(world.arrive)
        await until(lambda: delivered(world) == 1 and lost, "the delivery")
        await asyncio.sleep(0.3)
        assert network.posts == 1
        assert [row["lease_id"] for row in world.rows()] == [None]

    async def test_repeat_deliveries_that_a_crashed_database_forgot(
        self, world: World, other: Store, at_work: Any
    ) -> None:
        """Outcomes are committed without waiting for the disk: a crash may undo the last ones."""
        world.hook("push", url="https://receiver.example/")
        network = await at_work(other)
        await asyncio.to_thread(world.arrive)
        await until(lambda: delivered(world) == 1, "the delivery")
        world.store.write_sync(
            lambda db: db.execute(
                "UPDATE delivery SET state = 0, lease_id = (SELECT max(id) FROM lease)"
            )
        )
        await until(lambda: delivered(world) == 1, "the delivery")
        assert network.posts == 2

    async def test_send_nothing_once_their_lease_may_be_over(
        self,
        world: World,
        other: Store,
        at_work: Any,
        clock: MovableClock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The lease has expired, and the worker has not polled since."""
        wake = Worker.wake
        # A wake-up that names no hook would make the worker poll.
        monkeypatch.setattr(
            Worker, "wake", lambda self, hooks: wake(self, hooks) if hooks else None
        )
        world.hook("push", url="https://receiver.example/")
        network = await at_work(other, poll_interval=3600.0)
        clock.advance(31)
        await asyncio.to_thread(world.arrive)
        await until(lambda: world.rows()[0]["lease_id"] is not None, "the claim")
        await asyncio.sleep(0.1)
        assert network.posts == 0
        assert world.store.write_sync(leases.release_expired) == 1
        monkeypatch.undo()
        second = await at_work(world.store)
        await until(lambda: delivered(world) == 1, "the delivery")
        assert (network.posts, second.posts) == (0, 1)

    async def test_leave_others_time_after_an_outage(
        self,
        world: World,
        other: Store,
        at_work: Any,
        clock: MovableClock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """All leases have expired during the outage. An outcome recorded late must still count."""
        hook = world.hook("push", url="https://receiver.example/")["id"]
        world.arrive()
        lease = world.lease(LEASE)
        (one,) = world.claim(lease, hook)
        network = await at_work(other)
        borrow = other.engine.connections.acquire  # type: ignore[attr-defined]

        def away() -> Any:
            raise Unavailable("the database is away")

        monkeypatch.setattr(other.engine.connections, "acquire", away)  # type: ignore[attr-defined]
        await until(lambda: network.worker.lease.outages, "a poll")
        clock.advance(60)
        monkeypatch.setattr(other.engine.connections, "acquire", borrow)  # type: ignore[attr-defined]
        await until(lambda: other.read_sync(leases.live), "a renewed lease")
        assert len(other.read_sync(every_lease)) == 2
        await asyncio.sleep(0.5)
        world.store.write_sync(attempt_outcomes.record, [world.outcome(lease, one)])
        assert delivered(world) == 1
        assert network.posts == 0


def every_lease(db: Connection) -> Sequence[tuple[Any, ...]]:
    return db.tuples("SELECT id FROM lease")


# Time.


def agree(right: Callable[[], int], reported: Callable[[], int]) -> bool:
    """Whether a clock differs from the right one by less than a second, however slow the calls."""
    before, found, after = right(), reported(), right()
    return before - SECOND < found < after + SECOND


class TestTime:
    def test_the_clock_follows_the_database_not_the_machine(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Processes agree on the time, however wrong the clocks of their machines are."""
        right = Clock.now
        for error in (-3600 * SECOND, 90 * SECOND, 0):
            monkeypatch.setattr(Clock, "now", lambda self, error=error: right(self) + error)
            store = open_store(url, data_dir=tmp_path)
            assert agree(partial(right, store.clock), store.clock.now)
            assert agree(partial(right, store.clock), partial(store.write_sync, lambda db: db.now))
            store.shut()

    def test_a_jump_of_the_machines_clock_changes_nothing(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A worker whose machine is set forward does not end the leases of others."""
        store = open_store(url, data_dir=tmp_path)
        right, other = Clock.now, store.write_sync(leases.acquire, "other", 30 * SECOND)
        for error in (3600 * SECOND, -3600 * SECOND):
            monkeypatch.setattr(Clock, "now", lambda self, error=error: right(self) + error)
            assert agree(partial(right, store.clock), store.clock.now)
            store.write_sync(leases.release_expired)
            assert store.write_sync(leases.renew, other, 30 * SECOND)
            monkeypatch.setattr(PostgresClock, "stale", True)
            store.read_sync(lambda db: None)
            assert agree(partial(right, store.clock), store.clock.now)
        store.shut()

    def test_a_stale_clock_is_measured_again(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = open_store(url, data_dir=tmp_path)
        steady, right = postgres_clock.steady, Clock.now
        monkeypatch.setattr(postgres_clock, "steady", lambda: steady() + 60 * SECOND)
        assert store.clock.now() - right(store.clock) > 50 * SECOND
        monkeypatch.setattr(PostgresClock, "stale", True)
        store.read_sync(lambda db: None)
        assert agree(partial(right, store.clock), store.clock.now)
        store.shut()

    def test_the_clock_does_not_go_back_where_the_clocks_agree(
        self, url: str, tmp_path: Path
    ) -> None:
        store = open_store(url, data_dir=tmp_path)
        moments = [store.clock.now() for _ in range(100)]
        assert all(later >= earlier for earlier, later in pairwise(moments))
        store.shut()


# Opening.


class TestOpening:
    def test_a_database_that_only_reads_can_be_opened(
        self, url: str, tmp_path: Path, store: Store
    ) -> None:
        with closing(psycopg.connect(url, autocommit=True)) as raw:
            only = f'ALTER DATABASE "{raw.info.dbname}" {{}} default_transaction_read_only {{}}'
            raw.execute(only.format("SET", "= on"))
            try:
                beside = open_store(url, data_dir=tmp_path)
                assert beside.read_sync(accounts.list_all) == store.read_sync(accounts.list_all)
                beside.shut()
            finally:
                raw.execute("SET default_transaction_read_only = off")
                raw.execute(only.format("RESET", ""))

    def test_several_processes_at_once_migrate_once(self, tmp_path: Path) -> None:
        (tmp_path / "secret.key").touch()
        program = (
            "import sys; from pathlib import Path; from store import open_store\n"
            "open_store(sys.argv[1], data_dir=Path(sys.argv[2])).shut()"
        )
        with database(migrated=False) as named:
            running = [
                subprocess.Popen(
                    [sys.executable, "-c", program, named, tmp_path / str(number)],
                    stderr=subprocess.PIPE,
                    text=True,
                )
                for number in range(4)
            ]
            said = [process.communicate(timeout=PATIENCE)[1] for process in running]
            assert said == [""] * 4
            assert [process.returncode for process in running] == [0] * 4
            assert len(sql(named, "SELECT number FROM migration")) == len(steps())

    def test_waits_for_a_migration_beyond_the_lock_timeout(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pool, "LIMITS", {"lock_timeout": "50ms"})
        with database() as named, ThreadPoolExecutor(1) as thread:
            first = open_store(named, data_dir=tmp_path)
            forget = "DELETE FROM migration RETURNING number, name, applied_at"
            (step,) = first.write_sync(lambda db: db.all(forget))
            with transaction(first) as db:
                db.alone("migration")
                record = "INSERT INTO migration (number, name, applied_at)"
                db.execute(f"{record} VALUES (:number, :name, :applied_at)", **step)
                second = thread.submit(open_store, named, data_dir=tmp_path)
                wait_until(lambda: waits(named), "the second process")
                time.sleep(0.2)
            second.result(PATIENCE).shut()
            first.shut()

    def test_a_write_within_a_read_is_refused(self, world: World) -> None:
        with pytest.raises(Exception, match="a read does not write"):
            world.store.read_sync(jobs.save_schedules, PLANS)

    def test_a_value_too_long_for_an_index_is_invalid_at_each_try(self, store: Store) -> None:
        name = incompressible(1_000)
        with pytest.raises(Invalid, match="PostgreSQL cannot store a value: index row size"):
            store.write_sync(logins.failed, name, 60)
        assert store.write_sync(logins.failed, name[:500], 60) == 1

    def test_a_failed_statement_is_not_passed_over(self, world: World) -> None:
        def careless(db: Connection) -> None:
            jobs.save_schedules(db, PLANS)
            with suppress(psycopg.Error):
                db.execute("SELECT 1 / 0")

        with pytest.raises(AssertionError, match="passed over"):
            world.store.write_sync(careless)
        assert world.store.read_sync(jobs.every) == []


# Plans of queries on large tables.

MANY = 200_000
LARGE = {"delivery", "event", "attempt"}


def fill(db: Connection, hook_ids: list[int]) -> None:
    """Insert MANY finished deliveries, with their events and attempts, and other subscriptions."""
    db.execute(
        "INSERT INTO event (guid, scope, repo_id, name, received_at, size, digest, body)"
        " SELECT 'old-' || n, 1, 1, 'push', n, 2, '\\x00', '\\x00'"
        " FROM generate_series(1, :many / 5) AS n",
        many=MANY,
    )
    db.execute(
        "INSERT INTO delivery (event_id, hook_id, repo_id, state, attempts, due_at)"
        " SELECT 1 + n / 5, :first + n % :hooks, 1, 1, 1, n FROM generate_series(1, :many) AS n",
        first=hook_ids[0],
        hooks=len(hook_ids),
        many=MANY,
    )
    db.execute(
        "INSERT INTO subscription (repo_id, event, hook_id)"
        " SELECT 1, 'event-' || n, :first FROM generate_series(1, 100000) AS n",
        first=hook_ids[0],
    )
    db.execute(
        "INSERT INTO attempt (delivery_id, hook_id, event_id, repo_id, number, redelivery,"
        " started_at, duration, url, timings, request_head) SELECT id, hook_id, event_id, 1, 1, 0,"
        " id, 1, 'https://receiver.example/', '{}', 'POST' FROM delivery"
    )


def path(world: World, hook_ids: list[int], round_: int) -> None:
    """Run the statements of the delivery path, and the other statements of a worker."""
    store, some = world.store, hook_ids[:5]
    lease = world.lease()
    guids = [f"g-{round_}-{at}" for at in range(4)]
    store.write_sync(events.accept_all, [world.arrival(guid) for guid in guids])
    store.write_sync(events.accept_all, [world.arrival(guid) for guid in guids])
    store.read_sync(deliveries.waiting_hooks)
    claimed, _ = store.write_sync(deliveries.claim, some, lease, 3)
    one, two, three, *others = claimed
    store.read_sync(events.get, one.event_id)
    store.read_sync(events.get_many, [one.event_id, two.event_id], 1000)
    store.write_sync(attempt_outcomes.record, [world.outcome(lease, x) for x in (one, two)])
    store.write_sync(deliveries.release, lease, [three.id])
    store.write_sync(deliveries.mark_dead, lease, [x.id for x in others], "gone")
    assert store.read_sync(leases.delivery_ids, lease) == []
    assert store.write_sync(leases.renew, lease, LEASE)
    held, _ = store.write_sync(deliveries.claim, some, lease, 3)
    assert store.write_sync(leases.release, lease) == len(held)
    store.write_sync(leases.release_expired)
    store.read_sync(attempts.last_responses, some)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


class TestPlans:
    """Statements of the delivery path find their rows by an index, however large the tables are."""

    @pytest.fixture
    def url(self) -> Iterator[str]:
        """A new database for each test: a shared one would keep the statistics of other tests."""
        with database() as named:
            yield named

    @pytest.fixture
    def hook_ids(self, world: World) -> list[int]:
        return [world.hook("push")["id"] for _ in range(50)]

    def test_use_the_indexes_made_for_them(
        self, world: World, hook_ids: list[int], url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world.store.write_sync(fill, hook_ids)
        sql(url, "ANALYZE")
        found: dict[str, list[dict[str, Any]]] = {}
        run = PostgresSession.run

        def explain(session: PostgresSession, statement: str, given: Any) -> Any:
            if statement.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")):
                ((plan,),) = run(session, f"EXPLAIN (FORMAT JSON) {statement}", given).fetchall()
                found.setdefault(statement, []).extend(nodes(plan[0]["Plan"]))
            return run(session, statement, given)

        with monkeypatch.context() as patched:
            patched.setattr(PostgresSession, "run", explain)
            path(world, hook_ids, 1)
        for statement, used in found.items():
            scanned = [x for x in used if x["Node Type"] == "Seq Scan"]
            assert not [x for x in scanned if x["Relation Name"] in LARGE], (statement, used)
        self._uses(found, "UPDATE delivery SET lease_id = :lease_id", "delivery_due")
        self._uses(found, "WITH RECURSIVE w (hook_id)", "delivery_due")
        self._uses(found, "WITH RECURSIVE w (lease_id)", "delivery_leased")
        self._uses(found, "UPDATE delivery SET state = r.state", "delivery_pkey")
        self._uses(
            found, "UPDATE delivery SET lease_id = NULL WHERE lease_id = :id", "delivery_leased"
        )
        self._uses(found, "SELECT id FROM delivery WHERE lease_id", "delivery_leased")
        self._uses(found, "INSERT INTO delivery", "subscription_pkey")
        self._uses(found, "SELECT count(*) FROM delivery WHERE event_id", "delivery_event")
        self._uses(found, "SELECT a.hook_id, a.status_code", "attempt_hook")

    def _uses(self, found: dict[str, list[dict[str, Any]]], start: str, index: str) -> None:
        (statement,) = (one for one in found if one.startswith(start))
        used = {node.get("Index Name") for node in found[statement]}
        assert index in used, (statement, used)

    @pytest.mark.parametrize(
        ("mode", "analyzed"),
        [(None, False), ("auto", True), ("force_generic_plan", True)],
    )
    def test_made_while_there_was_nothing_are_good_for_much(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str | None, analyzed: bool
    ) -> None:
        """A statement that was prepared on empty tables uses indexes after the tables have grown.

        Either its plan is discarded, or the tables are analyzed. With `mode` None, the server's
        setting applies.
        """
        # A single connection prepares all statements, and soon keeps their plans if `mode` lets it.
        monkeypatch.setattr(pool, "MOST", 1)
        if not analyzed:
            monkeypatch.setattr(pool, "PLAN_SECONDS", 0.0)
        with database() as named:
            options = f"&options=-c%20plan_cache_mode%3D{mode}" if mode else ""
            store = open_store(named + options, data_dir=tmp_path)
            world = make_world(store, MovableClock(START))
            hook_ids = [world.hook("push")["id"] for _ in range(50)]
            for round_ in range(12):
                path(world, hook_ids, round_)
            store.write_sync(fill, hook_ids)
            if analyzed:
                sql(named, "ANALYZE")
            before = scanned(store)
            for round_ in range(12, 24):
                path(world, hook_ids, round_)
            after = scanned(store)
            store.shut()
        assert after == before


def scanned(store: Store) -> dict[str, int]:
    """For each large table, the number of rows that sequential scans have read."""

    def ask(db: Connection) -> Any:
        db.value("SELECT pg_stat_force_next_flush()")
        db.value("SELECT 1")
        db.value("SELECT pg_stat_clear_snapshot()")
        return db.all("SELECT relname, seq_tup_read FROM pg_stat_user_tables")

    rows = store.read_sync(ask)
    return {row["relname"]: row["seq_tup_read"] for row in rows if row["relname"] in LARGE}
