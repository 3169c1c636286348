"""Retention: old rows are deleted, waiting ones are kept, and kept rows do not hide others."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from store_world import World
from transactions import transaction

from store.clock import HOUR, SECOND
from store.database import id_search
from store.delivery import (
    attempts,
    deliveries,
    event_queries,
    events,
    exhausted,
    hook_removal,
    retention,
)
from store.delivery.outcomes.attempt_outcomes import record
from store.hook_state import hook_silences
from store.hooks import hook_subscriptions, hooks
from store.mail import subscriptions
from store.ordering.delivery_states import DEAD, WAITING
from store.repositories import repository_removal
from store.text_index import portions

Drop = Callable[[Any, int, int, int], retention.Step]
DAY = 86_400
KEPT = 30 * DAY


@pytest.fixture
def lease(world: World) -> int:
    return world.lease(1000 * HOUR)


def wait(world: World, hook: dict[str, Any], many: int = 1) -> list[int]:
    """Create `many` events, each with a waiting delivery. Return the events' ids."""
    return [
        world.arrive(f"g-{world.now}-{at}-{hook['id']}", name=hook["events"][0]).event_id
        for at in range(many)
    ]


def finish(world: World, lease: int, hook: dict[str, Any], **given: Any) -> None:
    world.store.write_sync(
        record,
        [world.outcome(lease, one, **given) for one in world.claim(lease, hook["id"])],
    )


def kept_bodies(world: World) -> list[int]:
    return world.store.read_sync(
        lambda db: [
            row[0] for row in db.tuples("SELECT id FROM event WHERE body IS NOT NULL ORDER BY id")
        ]
    )


def kept_events(world: World) -> list[int]:
    return sorted(row["id"] for row in world.store.read_sync(event_queries.newest, limit=1000))


def everything(world: World, drop: Drop, before: int, limit: int = 10) -> int:
    """Take steps over the old events until the last one, as the worker does. Return the sum."""
    total, reached = 0, 0
    for _ in range(50):
        step = world.store.write_sync(drop, before, limit, reached)
        total += step.dropped
        if step.reached is None:
            return total
        reached = step.reached
    raise AssertionError("50 steps did not delete everything")


def every_attempt(world: World, before: int, limit: int = 10) -> int:
    return everything(world, retention.drop_attempts, before, limit)


class TestBodies:
    def test_go_at_their_time(self, world: World) -> None:
        old = world.arrive("g-1").event_id
        world.clock.advance(1)
        new = world.arrive("g-2").event_id
        assert everything(world, retention.drop_bodies, world.now - 1_000_000) == 0
        assert kept_bodies(world) == [old, new]
        assert everything(world, retention.drop_bodies, world.now - 999_999) == 1
        assert kept_bodies(world) == [new]
        row = world.store.read_sync(events.get, old)
        assert row is not None
        assert (row["body"], row["guid"]) == (None, "g-1")

    def test_bodies_of_waiting_deliveries_are_kept(self, world: World, lease: int) -> None:
        hook, dead = world.hook("push"), world.hook("star")
        waiting = wait(world, hook, 2)
        done = wait(world, dead, 2)
        finish(world, lease, dead, state=DEAD, status_code=500)
        world.claim(lease, hook["id"], limit=1)
        world.clock.advance(3600)
        assert everything(world, retention.drop_bodies, world.now) == len(done)
        assert kept_bodies(world) == waiting
        finish(world, lease, hook)

    def test_bodies_of_ended_events_are_deleted(self, world: World, lease: int) -> None:
        hook = world.hook("push")
        wait(world, hook, 2)
        finish(world, lease, hook)
        world.clock.advance(1)
        assert everything(world, retention.drop_bodies, world.now) == 2
        assert kept_bodies(world) == []

    def test_go_in_batches(self, world: World) -> None:
        for at in range(25):
            world.arrive(f"g-{at}")
        world.clock.advance(1)
        for dropped, left in ((10, 15), (10, 5), (5, 0), (0, 0)):
            assert world.store.write_sync(retention.drop_bodies, world.now, 10).dropped == dropped
            assert len(kept_bodies(world)) == left

    @pytest.mark.parametrize("waiting", [1, 9, 10, 35])
    def test_go_though_older_ones_have_to_stay(self, world: World, waiting: int) -> None:
        stay = wait(world, world.hook("push"), waiting)
        for at in range(25):
            world.arrive(f"g-{at}", name="star")
        world.clock.advance(1)
        young = world.arrive("g-young", name="star").event_id
        assert everything(world, retention.drop_bodies, world.now) == 25
        assert kept_bodies(world) == [*stay, young]

    def test_stay_for_a_redelivery(self, world: World) -> None:
        hook = world.hook("push")
        event_id = world.arrive(name="star").event_id
        world.store.write_sync(deliveries.enqueue, event_id, hook["id"], 1, redelivery=True)
        world.clock.advance(1)
        assert everything(world, retention.drop_bodies, world.now) == 0


class TestAttempts:
    def test_go_at_their_time_and_in_batches(self, world: World, lease: int) -> None:
        hook = world.hook("push")
        wait(world, hook, 25)
        finish(world, lease, hook)
        world.clock.advance(10)
        wait(world, hook, 1)
        finish(world, lease, hook)
        assert world.store.write_sync(retention.drop_attempts, world.now, 10).dropped == 10
        assert every_attempt(world, world.now) == 15
        (left,) = world.store.read_sync(attempts.page, hook["id"], limit=100)
        assert left["started_at"] == world.now
        assert every_attempt(world, world.now) == 0

    def test_leave_the_delivery_as_it_is(self, world: World, lease: int) -> None:
        hook = world.hook("push")
        wait(world, hook)
        finish(world, lease, hook)
        before = world.rows()
        world.clock.advance(1)
        assert every_attempt(world, world.now) == 1
        assert world.rows() == before


class TestEvents:
    def test_go_with_their_deliveries(self, world: World, lease: int) -> None:
        hook = world.hook("push")
        wait(world, hook, 2)
        finish(world, lease, hook)
        unwanted = world.arrive("g-unwanted", name="star").event_id
        world.clock.advance(1)
        young = wait(world, hook)
        before = world.now
        assert everything(world, retention.drop_events, before) == 1
        assert unwanted not in kept_events(world)
        every_attempt(world, before)
        assert everything(world, retention.drop_events, before) == 2
        assert kept_events(world) == young
        assert [row["event_id"] for row in world.rows()] == young

    def test_events_with_waiting_deliveries_are_never_deleted(
        self, world: World, lease: int
    ) -> None:
        hook = world.hook("push")
        one, other = wait(world, hook, 2)
        world.claim(lease, hook["id"], limit=1)
        world.clock.advance(365 * 86_400)
        everything(world, retention.drop_bodies, world.now)
        every_attempt(world, world.now)
        everything(world, retention.drop_events, world.now)
        assert kept_events(world) == [one, other]
        assert kept_bodies(world) == [one, other]
        assert len(world.rows()) == 2

    @pytest.mark.parametrize("staying", [1, 9, 10, 35])
    def test_go_though_older_ones_have_to_stay(
        self, world: World, lease: int, staying: int
    ) -> None:
        """The attempt of a late retry keeps its event for days longer than other events."""
        hook = world.hook("push")
        stay = wait(world, hook, staying)
        for at in range(25):
            world.arrive(f"g-{at}", name="star")
        world.clock.advance(1)
        before = world.now
        finish(world, lease, hook)
        assert every_attempt(world, before) == 0
        assert everything(world, retention.drop_events, before) == 25
        assert kept_events(world) == stay

    def test_a_guid_can_be_used_again_after_its_event_is_deleted(self, world: World) -> None:
        first = world.arrive("g-1")
        world.clock.advance(1)
        everything(world, retention.drop_events, world.now)
        again = world.arrive("g-1", body=b"{}")
        assert not again.duplicate
        assert again.event_id > first.event_id


@pytest.mark.parametrize("drop", [retention.drop_bodies, retention.drop_events])
def test_one_step_examines_a_limited_number_of_events(world: World, drop: Drop) -> None:
    stay = wait(world, world.hook("push"), 25)
    gone = world.arrive("g-gone", name="star").event_id
    world.clock.advance(1)
    steps, reached = [], 0
    for _ in range(3):
        steps.append(world.store.write_sync(drop, world.now, 10, reached))
        reached = steps[-1].reached or 0
    assert steps == [
        retention.Step(0, stay[9]),
        retention.Step(0, stay[19]),
        retention.Step(1, None),
    ]
    assert gone not in kept_bodies(world)


@pytest.mark.parametrize("drop", [retention.drop_bodies, retention.drop_events])
def test_events_after_a_bound_stay(world: World, drop: Callable[..., retention.Step]) -> None:
    ids = [world.arrive(f"g-{at}").event_id for at in range(5)]
    world.clock.advance(1)
    assert world.store.write_sync(drop, world.now, 10, 0, ids[1]) == retention.Step(2, None)
    assert kept_bodies(world) == ids[2:]


def test_a_step_over_large_rows_deletes_fewer(
    world: World, lease: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All other writers wait for a step."""
    monkeypatch.setattr(retention, "MOST_BYTES", 900)
    ids = [world.arrive(f"g-{at}", body=os.urandom(400)).event_id for at in range(5)]
    hook = world.hook("push")
    wait(world, hook, 2)
    finish(world, lease, hook, response_body="x" * 1_000)
    world.clock.advance(1)
    assert world.store.write_sync(retention.drop_bodies, world.now, 10, 0) == retention.Step(
        2, ids[1]
    )
    assert everything(world, retention.drop_bodies, world.now) == 5
    assert world.store.write_sync(retention.drop_attempts, world.now, 10, 0).dropped == 1
    assert every_attempt(world, world.now) == 1
    assert everything(world, retention.drop_events, world.now) == 7


def test_a_step_over_events_with_many_deliveries_deletes_fewer(
    world: World, lease: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MOST_DELIVERIES", 4)
    made = [world.hook("push") for _ in range(2)]
    ids = [world.arrive(f"g-{at}").event_id for at in range(5)]
    for hook in made:
        finish(world, lease, hook)
    world.clock.advance(1)
    every_attempt(world, world.now)
    everything(world, retention.drop_bodies, world.now)
    assert world.store.write_sync(retention.drop_events, world.now, 10, 0) == retention.Step(
        2, ids[1]
    )
    assert everything(world, retention.drop_events, world.now) == 3


def test_a_young_event_among_old_ones_does_not_end_the_steps(world: World) -> None:
    """A clock that was wrong for a while gives an event a later time than the ones after it."""
    ids = [world.arrive(f"g-{at}").event_id for at in range(25)]
    world.clock.advance(1)
    world.store.write_sync(
        lambda db: db.execute(
            "UPDATE event SET received_at = :now WHERE id = :id", now=db.now, id=ids[3]
        )
    )
    assert everything(world, retention.drop_bodies, world.now) == 24
    assert kept_bodies(world) == [ids[3]]


def test_bodies_that_stay_do_not_make_their_texts_indexed_again(world: World, lease: int) -> None:
    hook = world.hook("push")
    wait(world, hook, 2)
    finish(world, lease, hook, state=WAITING, status_code=500)
    world.store.write_sync(portions.add, [0])
    world.clock.advance(1)
    assert everything(world, retention.drop_bodies, world.now) == 0
    portion = world.store.read_sync(portions.next_due)
    assert portion is not None
    assert portion.removals == 0


@pytest.mark.parametrize("ahead", [DAY, 20 * DAY, 365 * DAY], ids=["day", "weeks", "year"])
class TestFastClock:
    @pytest.fixture(autouse=True)
    def fast(self, world: World, lease: int, ahead: int) -> None:
        """The clock is ahead while nine events come. Two events, now old, come after that."""
        world.clock.advance(ahead)
        hook = world.hook("push")
        wait(world, hook, 9)
        finish(world, lease, hook)
        world.clock.advance(-ahead)
        wait(world, hook, 2)
        finish(world, lease, hook)
        world.clock.advance(KEPT + 1)

    def test_bodies_behind_its_events_go(self, world: World) -> None:
        before = world.now - KEPT * SECOND
        assert everything(world, retention.drop_bodies, before, limit=3) == 2
        assert len(kept_bodies(world)) == 9

    @pytest.mark.parametrize("limit", [3, 10])
    def test_attempts_and_events_behind_its_own_go(self, world: World, limit: int) -> None:
        before = world.now - KEPT * SECOND
        assert every_attempt(world, before, limit) == 2
        assert everything(world, retention.drop_events, before, limit) == 2
        assert len(kept_events(world)) == 9

    def test_rows_of_a_fast_period_go_at_their_time(self, world: World, ahead: int) -> None:
        world.clock.advance(ahead)
        before = world.now - KEPT * SECOND
        assert every_attempt(world, before, limit=3) == 11
        assert everything(world, retention.drop_events, before, limit=3) == 11


@pytest.mark.parametrize("drop", [retention.drop_bodies, retention.drop_events])
def test_steps_jump_over_most_of_a_fast_period(
    world: World, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(id_search, "PROBES", 10)
    world.clock.advance(DAY)
    fast = [world.arrive(f"fast-{at}").event_id for at in range(60)]
    world.clock.advance(-DAY)
    for at in range(40):
        world.arrive(f"late-{at}")
    world.clock.advance(1)
    step = world.store.write_sync(drop, world.now, 5, 0)
    assert step.dropped == 0
    assert fast[45] < (step.reached or 0) <= fast[-1]
    assert everything(world, drop, world.now, limit=5) == 40


@pytest.mark.parametrize(
    "drop", [retention.drop_bodies, retention.drop_attempts, retention.drop_events]
)
def test_the_first_young_rows_end_the_steps(world: World, lease: int, drop: Drop) -> None:
    hook = world.hook("push")
    wait(world, hook, 30)
    finish(world, lease, hook)
    assert world.store.write_sync(drop, world.now, 5, 0) == retention.Step(0, None)


def test_deleted_hooks_go_at_their_time(world: World) -> None:
    kept, deleted = world.hook("push"), world.hook("push")
    world.store.write_sync(hook_removal.delete, deleted)
    world.clock.advance(1)
    assert world.store.write_sync(retention.drop_hooks, world.now - 1_000_000, 5) == 0
    assert world.store.write_sync(retention.drop_hooks, world.now, 5) == 1
    assert world.store.read_sync(hooks.by_id, deleted["id"]) is None
    assert world.store.read_sync(hooks.by_id, kept["id"]) is not None


def test_a_subscription_goes_with_its_deleted_hook(world: World) -> None:
    """Earlier versions could leave one, which made a delivery of each event for ever."""
    deleted = world.hook("push")
    world.store.write_sync(hook_removal.delete, deleted)
    world.store.write_sync(hook_subscriptions.sync, deleted)
    world.clock.advance(1)
    world.store.write_sync(retention.drop_hooks, world.now, 5)
    assert world.arrive().deliveries == 0


def test_deleted_hooks_go_in_batches(world: World) -> None:
    for _ in range(5):
        world.store.write_sync(hook_removal.delete, world.hook("push"))
    world.clock.advance(1)
    assert [world.store.write_sync(retention.drop_hooks, world.now, 2) for _ in range(3)] == [
        2,
        2,
        1,
    ]


def note(world: World, hook_id: int) -> None:
    """Mute, silence, and leave the mails about a hook, one of whose deliveries has died."""
    sql = "INSERT INTO problem_note (hook_id, kind, muted_until) VALUES (:id, '500', :now)"

    with transaction(world.store) as db:
        db.execute(sql, id=hook_id, now=db.now)
        subscriptions.unsubscribe(db, world.user["id"], [hook_id])
        if hook_id > 0:
            hook_silences.silence(db, [hook_id], db.now, "ada")
            exhausted.count(db, [(hook_id, 1)])


def noted(world: World, table: str) -> list[int]:
    sql = f"SELECT hook_id FROM {table} ORDER BY hook_id"
    return [hook_id for (hook_id,) in world.store.read_sync(lambda db: db.tuples(sql))]


def test_notes_go_with_hooks_that_went_with_their_repository(world: World) -> None:
    other = world.another_repo()
    kept, gone = world.hook("push"), world.hook("push", repo=other)
    for hook_id in (0, kept["id"], gone["id"]):
        note(world, hook_id)
    world.store.write_sync(repository_removal.remove, other)
    world.store.write_sync(retention.drop_hooks, world.now, 5)
    left = {table: noted(world, table) for table in retention.OF_HOOKS}
    assert left == {
        "problem_note": [0, kept["id"]],
        "hook_silence": [kept["id"]],
        "exhausted": [kept["id"]],
        "mail_unsubscribed": [0, kept["id"]],
    }
