"""The queue: due deliveries are claimed once, under a lease, and can be released again."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from store_world import FakeNotifier, World
from waiting import PATIENCE

from store import Store
from store.clock import HOUR, LATEST, MINUTE, SECOND
from store.delivery import (
    deliveries,
    delivery_queries,
    event_queries,
    events,
    future_times,
    hook_removal,
    leases,
    outbox,
)
from store.delivery.deliveries import ClaimedDelivery
from store.delivery.outcomes.attempt_outcomes import record
from store.delivery.replays import replay_deliveries, replay_selection
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import Invalid
from store.hooks import hooks
from store.hooks.event_names import WILDCARD

YEAR = 365 * 86_400
Opened = Callable[[], Store]


def ids(claimed: list[ClaimedDelivery]) -> list[int]:
    return [one.id for one in claimed]


def let_in(world: World, many: int, **given: Any) -> None:
    guids = [f"g-{given.get('name')}-{world.now}-{at}" for at in range(many)]
    world.store.write_sync(events.accept_all, [world.arrival(guid, **given) for guid in guids])


class TestClaim:
    def test_a_claim_takes_a_due_delivery_under_the_lease(self, world: World) -> None:
        hook = world.hook("push")
        receipt = world.arrive()
        lease = world.lease()
        (one,) = world.claim(lease, hook["id"])
        row = world.rows()[0]
        assert one == ClaimedDelivery(
            id=row["id"],
            event_id=receipt.event_id,
            hook_id=hook["id"],
            attempts=0,
            redelivery=0,
            version=1,
            due_at=row["due_at"],
        )
        assert world.row(one.id)["lease_id"] == lease

    def test_a_claimed_delivery_is_not_claimed_again(self, world: World) -> None:
        hook = world.hook("push")["id"]
        let_in(world, 3)
        lease, other = world.lease(), world.lease()
        assert len(world.claim(lease, hook)) == 3
        assert world.claim(lease, hook) == []
        assert world.claim(other, hook) == []

    def test_a_claim_takes_deliveries_of_the_named_hooks_only(self, world: World) -> None:
        first, second = world.hook("push")["id"], world.hook("push")["id"]
        let_in(world, 2)
        assert {one.hook_id for one in world.claim(world.lease(), first, 99)} == {first}
        assert {one.hook_id for one in world.claim(world.lease(), first, second)} == {second}
        assert world.claim(world.lease()) == []

    def test_a_claim_takes_up_to_the_limit_for_each_hook(self, world: World) -> None:
        """A backlog of one endpoint does not delay the deliveries to another."""
        busy, calm = world.hook("push")["id"], world.hook("star")["id"]
        let_in(world, 5)
        let_in(world, 1, name="star")
        lease = world.lease()
        taken = world.claim(lease, busy, calm, limit=2)
        assert sorted(one.hook_id for one in taken) == [busy, busy, calm]
        assert len(world.claim(lease, busy, calm, limit=2)) == 2
        assert len(world.claim(lease, busy, calm, limit=2)) == 1
        assert world.claim(lease, busy, calm, limit=2) == []

    def test_a_claim_takes_the_longest_due_delivery_first(self, world: World) -> None:
        hook = world.hook("push")["id"]
        let_in(world, 3)
        third, first, second = (row["id"] for row in world.rows())
        for delivery_id, due_at in ((third, 3), (first, 1), (second, 2)):
            world.store.write_sync(
                lambda db, i=delivery_id, due=due_at: db.execute(
                    "UPDATE delivery SET due_at = :due WHERE id = :id", due=due, id=i
                )
            )
        lease = world.lease()
        assert ids(world.claim(lease, hook, limit=2)) == [first, second]
        assert ids(world.claim(lease, hook, limit=2)) == [third]

    def test_deliveries_due_at_one_time_are_claimed_in_arrival_order(self, world: World) -> None:
        hook = world.hook("push")["id"]
        let_in(world, 10)
        assert ids(world.claim(world.lease(), hook)) == [row["id"] for row in world.rows()]

    def test_a_delivery_is_not_claimed_before_its_due_time(self, world: World) -> None:
        hook = world.hook("push")["id"]
        world.arrive()
        lease = world.lease()
        (one,) = world.claim(lease, hook)
        due_at = world.now + MINUTE
        world.store.write_sync(record, [world.failure(lease, one, due_at=due_at)])
        world.clock.advance(59.999999)
        assert world.claim(lease, hook) == []
        world.clock.advance(0.000001)
        (again,) = world.claim(lease, hook)
        assert (again.id, again.attempts) == (one.id, 1)

    def test_says_when_the_next_is_due(self, world: World) -> None:
        many, later, none = (world.hook(name)["id"] for name in ("push", "star", "fork"))
        let_in(world, 3)
        let_in(world, 1, name="star")
        lease = world.lease()
        (one,) = world.claim(lease, later)
        world.store.write_sync(record, [world.failure(lease, one, due_at=world.now + 5)])
        claimed, due = world.store.write_sync(deliveries.claim, [many, later, none], lease, 2)
        assert len(claimed) == 2
        assert due == {many: world.now, later: world.now + 5}
        _, due = world.store.write_sync(deliveries.claim, [many, later, none], lease, 2)
        assert due == {later: world.now + 5}

    def test_includes_the_version_of_the_hook(self, world: World) -> None:
        hook = world.hook("push")
        world.store.write_sync(hooks.update, hook, url="https://other.example/")
        world.arrive()
        (one,) = world.claim(world.lease(), hook["id"])
        assert one.version == 2

    def test_deliveries_of_a_deleted_hook_can_be_claimed(self, world: World) -> None:
        """A worker must claim such a delivery before it can mark it as dead."""
        hook = world.hook("push")
        world.arrive()
        world.store.write_sync(hook_removal.delete, hook)
        lease = world.lease()
        (one,) = world.claim(lease, hook["id"])
        assert one.version == 2
        world.store.write_sync(deliveries.release, lease, [one.id])
        world.store.write_sync(lambda db: db.execute("DELETE FROM hook"))
        (one,) = world.claim(lease, hook["id"])
        assert one.version == 0

    def test_by_two_programs_at_once_takes_nothing_twice(
        self, world: World, opened: Opened
    ) -> None:
        hook_ids = [world.hook("push")["id"] for _ in range(3)]
        let_in(world, 60)
        stores = [world.store, opened()]
        together = threading.Barrier(2)

        def work(store: Store) -> list[int]:
            lease = store.write_sync(leases.acquire, "one of two", HOUR)
            taken: list[int] = []
            together.wait(PATIENCE)
            while True:
                claimed, due = store.write_sync(deliveries.claim, hook_ids, lease, 4)
                taken += ids(claimed)
                if not claimed and not due:
                    return taken

        with ThreadPoolExecutor(2) as threads:
            first, second = threads.map(work, stores)
        assert not set(first) & set(second)
        assert sorted(first + second) == [row["id"] for row in world.rows()]


class TestWaitingHooks:
    def test_names_each_with_the_first_that_is_due(self, world: World) -> None:
        later, now, leased, done = (
            world.hook(name)["id"] for name in ("push", "star", "fork", "watch")
        )
        world.hook("issues")
        for name in ("push", "star", "fork", "watch"):
            let_in(world, 2, name=name)
        lease = world.lease()
        waiting = world.claim(lease, later)
        due = [world.now + 9, world.now + 7]
        world.store.write_sync(
            record,
            [world.failure(lease, one, due_at=at) for one, at in zip(waiting, due, strict=True)],
        )
        world.claim(lease, leased)
        world.store.write_sync(
            record, [world.outcome(lease, one) for one in world.claim(lease, done)]
        )
        assert world.store.read_sync(deliveries.waiting_hooks) == {
            later: world.now + 7,
            now: world.now,
        }

    def test_a_hook_without_deliveries_is_not_waiting(self, world: World) -> None:
        world.hook("push")
        assert world.store.read_sync(deliveries.waiting_hooks) == {}


class TestRelease:
    def test_returns_untried_deliveries_to_the_queue(self, world: World) -> None:
        hook = world.hook("push")["id"]
        let_in(world, 3)
        lease = world.lease()
        taken = ids(world.claim(lease, hook))
        assert world.store.write_sync(deliveries.release, lease, taken[:2]) == 2
        assert ids(world.claim(world.lease(), hook)) == taken[:2]

    def test_a_worker_releases_only_its_own_deliveries(self, world: World) -> None:
        hook = world.hook("push")["id"]
        world.arrive()
        lease = world.lease()
        (one,) = world.claim(lease, hook)
        assert world.store.write_sync(deliveries.release, world.lease(), [one.id]) == 0
        assert world.row(one.id)["lease_id"] == lease
        assert world.store.write_sync(deliveries.release, lease, []) == 0


class TestBury:
    def test_marks_a_delivery_as_dead_with_the_reason(self, world: World) -> None:
        hook = world.hook("push")["id"]
        let_in(world, 2)
        lease = world.lease()
        one, other = world.claim(lease, hook)
        world.clock.advance(5)
        assert (
            world.store.write_sync(deliveries.mark_dead, lease, [one.id], "the hook was deleted")
            == 1
        )
        row = world.row(one.id)
        assert (row["state"], row["lease_id"]) == (2, None)
        assert (row["due_at"], row["reason"]) == (world.now, "the hook was deleted")
        assert world.row(other.id)["lease_id"] == lease
        assert world.claim(lease, hook) == []

    def test_a_worker_marks_only_its_own_deliveries_as_dead(self, world: World) -> None:
        hook = world.hook("push")["id"]
        world.arrive()
        lease = world.lease()
        (one,) = world.claim(lease, hook)
        assert world.store.write_sync(deliveries.mark_dead, world.lease(), [one.id], "no") == 0
        world.store.write_sync(deliveries.release, lease, [one.id])
        assert world.store.write_sync(deliveries.mark_dead, lease, [one.id], "no") == 0
        assert world.row(one.id)["state"] == 0


class TestLeases:
    def test_leases_have_different_ids(self, world: World) -> None:
        assert len({world.lease() for _ in range(5)}) == 5

    def test_a_lease_can_be_renewed_until_it_is_ended(self, world: World) -> None:
        lease = world.lease(10 * SECOND)
        world.clock.advance(9)
        assert world.store.write_sync(leases.renew, lease, 10 * SECOND)
        world.clock.advance(9.999999)
        assert world.store.write_sync(leases.renew, lease, 10 * SECOND)
        # The lease expires, but no worker ends it before the renewal.
        world.clock.advance(10)
        assert world.store.write_sync(leases.renew, lease, 10 * SECOND)
        world.clock.advance(10)
        world.store.write_sync(leases.release_expired)
        assert not world.store.write_sync(leases.renew, lease, 10 * SECOND)
        assert not world.store.write_sync(leases.renew, 99, SECOND)

    def test_a_released_lease_frees_its_deliveries(self, world: World) -> None:
        hook = world.hook("push")["id"]
        let_in(world, 4)
        lease, other = world.lease(), world.lease()
        world.claim(other, hook, limit=1)
        world.claim(lease, hook)
        assert world.store.write_sync(leases.release, lease) == 3
        assert not world.store.write_sync(leases.renew, lease, HOUR)
        assert len(world.claim(world.lease(), hook)) == 3
        assert world.store.write_sync(leases.release, lease) == 0

    def test_end_at_their_moment(self, world: World) -> None:
        hook = world.hook("push")["id"]
        let_in(world, 3)
        short, long = world.lease(10 * SECOND), world.lease(20 * SECOND)
        world.claim(long, hook, limit=1)
        world.claim(short, hook)
        world.clock.advance(9.999999)
        assert world.store.write_sync(leases.release_expired) == 0
        world.clock.advance(0.000001)
        assert world.store.write_sync(leases.release_expired) == 2
        assert world.store.write_sync(leases.release_expired) == 0
        world.clock.advance(10)
        assert world.store.write_sync(leases.release_expired) == 1

    def test_those_of_a_fast_clock_end_after_pruning(self, world: World) -> None:
        """A worker died while the clock was fast."""
        hook = world.hook("push")["id"]
        let_in(world, 2)
        world.clock.advance(YEAR)
        world.claim(world.lease(10 * SECOND), hook)
        world.clock.advance(-YEAR)
        alive = world.lease(10 * SECOND)
        assert world.store.write_sync(leases.release_expired) == 0
        world.store.write_sync(future_times.end_far_leases, world.now + HOUR, 10)
        assert world.store.write_sync(leases.release_expired) == 2
        assert world.store.write_sync(leases.renew, alive, SECOND)

    def test_those_of_an_hour_that_comes_again_last_as_long_as_others(self, world: World) -> None:
        hook = world.hook("push")["id"]
        let_in(world, 1)
        world.clock.advance(3_600)
        world.claim(world.lease(10 * SECOND), hook)
        world.clock.advance(-3_600)
        world.lease(5 * SECOND)
        world.store.write_sync(future_times.shorten_leases_of_later)
        world.clock.advance(9.999999)
        assert world.store.write_sync(leases.release_expired) == 0
        world.clock.advance(0.000001)
        assert world.store.write_sync(leases.release_expired) == 1

    def test_clocks_that_differ_by_seconds_make_no_retry_due(self, world: World) -> None:
        hook = world.hook("push")["id"]
        world.clock.advance(30)
        let_in(world, 1)
        retry_at = world.now + HOUR
        lease = world.lease()
        (one,) = world.claim(lease, hook)
        world.store.write_sync(record, [world.failure(lease, one, due_at=retry_at)])
        world.clock.advance(-30)
        for table in future_times.TABLES:
            found = world.store.read_sync(future_times.find_later, table, LATEST, 9)
            assert found is not None
            assert not found[1]
            world.store.write_sync(future_times.end_delays_of_later, table, 0, LATEST)
        assert [row["due_at"] for row in world.rows()] == [retry_at]
        world.clock.advance(-3_600)
        found = world.store.read_sync(future_times.find_later, "attempt", LATEST, 9)
        assert found is not None
        assert found[1]
        world.clock.advance(3_600 + 30 + future_times.RECENT / SECOND + 1)
        assert world.store.read_sync(future_times.find_later, "attempt", LATEST, 9) is None

    def test_a_retry_planned_since_the_clock_was_put_back_stays(self, world: World) -> None:
        """Each start of a worker looks for the times of the hour that comes again."""
        hook, other = world.hook("push")["id"], world.hook("star")["id"]
        world.clock.advance(3_600)
        let_in(world, 1)
        let_in(world, 1, name="star")
        lease = world.lease()
        for one in world.claim(lease, hook, other):
            world.store.write_sync(record, [world.failure(lease, one, due_at=world.now + HOUR)])
        world.clock.advance(-3_600)

        def look() -> list[int]:
            for table in future_times.TABLES:
                world.store.write_sync(future_times.end_delays_of_later, table, 0, LATEST)
            return [row["due_at"] for row in world.rows()]

        assert look() == [world.now, world.now]
        (again,) = world.claim(lease, hook)
        retry_at = world.now + 10 * MINUTE
        world.store.write_sync(record, [world.failure(lease, again, due_at=retry_at)])
        assert look() == [retry_at, world.now]

    def test_one_that_may_be_in_flight_waits_when_the_clock_is_put_back(self, world: World) -> None:
        hook = world.hook("push", options={"ordering": "hook"})["id"]
        world.clock.advance(3_600)
        let_in(world, 1)
        world.claim(world.lease(SECOND), hook)
        world.clock.advance(-3_600)
        world.store.write_sync(future_times.shorten_leases_of_later)
        world.clock.advance(1)
        assert world.store.write_sync(leases.release_expired) == 1
        world.store.write_sync(future_times.end_delays_of_later, "event", 0, LATEST)
        assert world.claim(world.lease(), hook) == []
        world.clock.advance(leases.LONGEST_ATTEMPT / SECOND)
        assert len(world.claim(world.lease(), hook)) == 1

    def test_a_sole_worker_ends_all_leases_but_its_own(self, world: World) -> None:
        hook = world.hook("push")["id"]
        let_in(world, 6)
        mine, other, gone = world.lease(), world.lease(), world.lease()
        for lease in (mine, other, gone):
            world.claim(lease, hook, limit=2)
        world.store.write_sync(lambda db: db.execute("DELETE FROM lease WHERE id = :id", id=gone))
        assert world.store.write_sync(leases.release_others, mine) == 4
        assert [row["lease_id"] for row in world.rows()].count(mine) == 2
        assert world.store.write_sync(leases.renew, mine, HOUR)
        assert not world.store.write_sync(leases.renew, other, HOUR)

    def test_deliveries_claimed_under_an_ended_lease_are_freed(self, world: World) -> None:
        """A worker that slept claims under a lease that others have ended meanwhile."""
        hook = world.hook("push")["id"]
        let_in(world, 4)
        asleep = world.lease(SECOND)
        world.claim(asleep, hook, limit=2)
        world.clock.advance(1)
        assert world.store.write_sync(leases.release_expired) == 2
        assert len(world.claim(asleep, hook, limit=2)) == 2
        awake = world.lease()
        assert len(world.claim(awake, hook)) == 2
        assert world.store.write_sync(leases.release_expired) == 2
        assert len(world.claim(awake, hook)) == 2


class TestRedeliver:
    def test_a_redelivery_is_a_new_delivery_of_the_same_event(self, world: World) -> None:
        hook = world.hook("push")
        receipt = world.arrive()
        lease = world.lease()
        (one,) = world.claim(lease, hook["id"])
        world.store.write_sync(record, [world.outcome(lease, one)])
        world.store.notifier = notifier = FakeNotifier()
        made = world.store.write_sync(
            deliveries.redeliver, receipt.event_id, hook["id"], world.repo["id"]
        )
        assert notifier.woken == [hook["id"]]
        assert made != one.id
        (again,) = world.claim(lease, hook["id"])
        assert (again.id, again.event_id) == (made, receipt.event_id)
        assert (again.redelivery, again.attempts) == (1, 0)
        assert world.row(one.id)["state"] == 1

    def test_a_redelivery_without_a_kept_body_is_refused(self, world: World) -> None:
        hook = world.hook("push")
        receipt = world.arrive()
        world.store.write_sync(lambda db: db.execute("UPDATE event SET body = NULL"))
        for event_id in (receipt.event_id, 99):
            with pytest.raises(Invalid, match="no longer kept") as caught:
                world.store.write_sync(deliveries.redeliver, event_id, hook["id"], world.repo["id"])
            assert caught.value.resource == "HookDelivery"
        assert len(world.rows()) == 1


class TestReplay:
    def replay(
        self, world: World, chosen: ReplaySelection, limit: int = 2
    ) -> list[tuple[str, int]]:
        """Replay in batches. Return the (guid, hook id) pairs of the new deliveries."""
        before = {row["id"] for row in world.rows()}
        many, newest = world.store.read_sync(replay_selection.total, chosen)
        after, total = 0, 0
        while True:
            made, last = world.store.write_sync(
                replay_deliveries.create, chosen, after, newest, limit
            )
            total += made
            if last == 0:
                break
            assert last > after
            after = last
        assert total == many
        guids = {
            row["id"]: row["guid"] for row in world.store.read_sync(event_queries.newest, limit=100)
        }
        fresh = [row for row in world.rows() if row["id"] not in before]
        assert all((row["redelivery"], row["due_at"]) == (1, world.now) for row in fresh)
        return sorted((guids[row["event_id"]], row["hook_id"]) for row in fresh)

    def test_a_replay_reaches_the_current_subscribers(self, world: World) -> None:
        old = world.hook("push")
        for at in range(5):
            world.arrive(f"g-{at}")
        world.arrive("g-star", name="star")
        world.arrive("g-tea", name="tea_is_ready")
        world.store.write_sync(hook_removal.delete, old)
        push, every = world.hook("push")["id"], world.hook(WILDCARD)["id"]
        assert self.replay(world, ReplaySelection()) == sorted(
            [(f"g-{at}", hook) for at in range(5) for hook in (push, every)] + [("g-star", every)]
        )

    def test_wakes_hooks_with_due_deliveries(self, world: World) -> None:
        hook = world.hook("push")["id"]
        world.arrive()
        world.store.notifier = notifier = FakeNotifier(held=7)
        self.replay(world, ReplaySelection())
        assert notifier.woken == [hook]
        assert notifier.offers == []

    def test_a_replay_delivers_the_selected_events_only(self, world: World) -> None:
        other = world.another_repo()
        push, star = world.hook("push")["id"], world.hook("star", WILDCARD)["id"]
        there = world.hook("push", repo=other)["id"]
        start = world.now
        world.arrive("g-1")
        world.arrive("g-2", repo_id=other["id"])
        world.clock.advance(1)
        world.arrive("g-3", name="star")
        world.clock.advance(1)
        world.arrive("g-4")
        world.clock.advance(1)
        assert self.replay(world, ReplaySelection(repo_id=other["id"])) == [("g-2", there)]
        assert self.replay(world, ReplaySelection(hook_id=push)) == [("g-1", push), ("g-4", push)]
        assert self.replay(world, ReplaySelection(event="star")) == [("g-3", star)]
        assert self.replay(world, ReplaySelection(since=start + SECOND, hook_id=star)) == [
            ("g-3", star),
            ("g-4", star),
        ]
        assert self.replay(world, ReplaySelection(until=start + SECOND, hook_id=star)) == [
            ("g-1", star)
        ]
        assert self.replay(world, ReplaySelection(since=start + 1, until=start + SECOND)) == []

    def test_a_replay_of_failures_selects_dead_deliveries_only(self, world: World) -> None:
        hook = world.hook("push")["id"]
        lease = world.lease()
        for guid, given in {
            "g-delivered": {"state": 1},
            "g-dead": {"state": 2, "status_code": 500},
            "g-waiting": {"state": 0, "status_code": 500},
        }.items():
            world.arrive(guid)
            (one,) = world.claim(lease, hook)
            world.store.write_sync(
                record, [world.outcome(lease, one, **given, due_at=world.now + HOUR)]
            )
        assert self.replay(world, ReplaySelection(failed=True)) == [("g-dead", hook)]
        assert self.replay(world, ReplaySelection(failed=True)) == []
        assert len(self.replay(world, ReplaySelection())) == 3

    def test_leaves_out_pings_and_events_without_a_body(self, world: World) -> None:
        hook = world.hook("ping", "push")
        world.store.write_sync(
            outbox.emit, "ping", None, world.repo["id"], {}, only_hook=hook["id"]
        )
        world.arrive()
        world.store.write_sync(
            lambda db: db.execute("UPDATE event SET body = NULL WHERE guid = 'g-1'")
        )
        assert world.store.read_sync(replay_selection.total, ReplaySelection())[0] == 0
        assert self.replay(world, ReplaySelection()) == []

    def test_leaves_out_events_that_arrive_meanwhile(self, world: World) -> None:
        world.hook("push")
        world.arrive("g-1")
        _, newest = world.store.read_sync(replay_selection.total, ReplaySelection())
        world.arrive("g-2")
        made, last = world.store.write_sync(
            replay_deliveries.create, ReplaySelection(), 0, newest, 10
        )
        assert (made, last) == (1, 0)
        assert world.store.write_sync(
            replay_deliveries.create, ReplaySelection(), newest, newest, 10
        ) == (
            0,
            0,
        )


def test_pages_of_deliveries(world: World) -> None:
    other = world.another_repo()
    push, star = world.hook("push")["id"], world.hook("star")["id"]
    there = world.hook("push", repo=other)["id"]
    lease = world.lease()
    world.arrive("g-1")
    world.clock.advance(1)
    world.arrive("g-2", name="star", action="created")
    world.arrive("g-3", repo_id=other["id"])
    (one,) = world.claim(lease, push)
    world.store.write_sync(record, [world.failure(lease, one, due_at=world.now)])
    (one,) = world.claim(lease, push)
    world.store.write_sync(record, [world.failure(lease, one, error="connect: refused", state=2)])
    (one,) = world.claim(lease, star)
    world.store.write_sync(record, [world.outcome(lease, one)])

    def page(**given: Any) -> list[str]:
        rows = world.store.read_sync(delivery_queries.page, **({"limit": 10} | given))
        return [row["guid"] for row in rows]

    assert page() == ["g-3", "g-2", "g-1"]
    assert page(limit=1) == ["g-3"]
    newest = world.store.read_sync(delivery_queries.page, limit=1)[0]
    assert page(before=newest["id"]) == ["g-2", "g-1"]
    assert page(state="waiting") == ["g-3"]
    assert page(state="delivered") == ["g-2"]
    assert page(state="dead") == ["g-1"]
    assert page(hook_id=there) == ["g-3"]
    assert page(repo_id=world.repo["id"]) == ["g-2", "g-1"]
    assert page(event="push", repo_id=world.repo["id"]) == ["g-1"]
    assert page(since=world.now) == ["g-3", "g-2"]
    dead = world.store.read_sync(delivery_queries.page, limit=1, state="dead")[0]
    assert (dead["attempts"], dead["error"], dead["state"]) == (2, "connect: refused", "dead")
    assert dead["event"] == "push"
    assert newest["attempt_id"] is None
    counts = {"waiting": 1, "delivered": 1, "dead": 1, "filtered": 0}
    assert world.store.read_sync(delivery_queries.count_by_state) == counts
