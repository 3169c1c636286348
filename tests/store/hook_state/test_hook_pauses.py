"""Pauses of hooks: deliveries wait, none is lost, and the pause is no failure of the receiver."""

import pytest
from store_world import FakeNotifier, World

from store import Row
from store.clock import SECOND
from store.delivery import deliveries, hook_removal
from store.delivery.outcomes.attempt_outcomes import record
from store.errors import Missing
from store.hook_state import hook_list, hook_pauses
from store.hook_state.hook_list import HookFilter
from store.hooks import hooks
from store.monitoring import stats


def pause(world: World, hook: Row) -> Row:
    return world.store.write_sync(hook_pauses.pause, hook)


def resume(world: World, hook: Row) -> Row:
    return world.store.write_sync(lambda db: hook_pauses.resume(db, hooks.by_id(db, hook["id"])))


def test_the_deliveries_of_a_paused_hook_wait_and_others_do_not(world: World) -> None:
    first, second = world.hook("push"), world.hook("push")
    world.arrive("before")
    assert pause(world, first)["paused_at"] == world.now
    assert world.arrive("after").deliveries == 2
    claimed = world.claim(world.lease(), first["id"], second["id"])
    assert {one.hook_id for one in claimed} == {second["id"]}
    assert len(claimed) == 2
    resume(world, first)
    assert len(world.claim(world.lease(), first["id"], second["id"])) == 2


def test_no_time_is_named_at_which_a_paused_hook_has_work(world: World) -> None:
    hook = pause(world, world.hook("push"))
    world.arrive()
    assert world.store.read_sync(deliveries.waiting_hooks) == {}
    _, later = world.store.write_sync(deliveries.claim, [hook["id"]], world.lease(), 10)
    assert later == {}
    resume(world, hook)
    assert world.store.read_sync(deliveries.waiting_hooks) == {hook["id"]: world.now}


def test_no_worker_holds_a_new_delivery_of_a_paused_hook(world: World) -> None:
    paused, other = pause(world, world.hook("push")), world.hook("push")
    notifier = world.store.notifier = FakeNotifier(held=world.lease())
    world.arrive()
    held = {row["hook_id"]: row["lease_id"] for row in world.rows()}
    assert held == {paused["id"]: None, other["id"]: notifier.held}
    assert notifier.woken == [paused["id"]]


def test_workers_are_woken_and_notice_the_change(world: World) -> None:
    hook = world.hook("push")
    notifier = world.store.notifier = FakeNotifier()
    assert pause(world, hook)["version"] == hook["version"] + 1
    assert resume(world, hook)["version"] == hook["version"] + 2
    assert notifier.woken == [hook["id"], hook["id"]]


def test_a_pause_lasts_since_its_first_time(world: World) -> None:
    hook = world.hook("push")
    began = pause(world, hook)["paused_at"]
    world.clock.advance(5)
    assert pause(world, hook)["paused_at"] == began
    assert resume(world, hook)["paused_at"] is None
    again = resume(world, hook)
    assert again["paused_at"] is None
    assert again["version"] == hook["version"] + 3, "nothing changed, and no worker is woken"


def test_the_time_of_a_pause_is_no_time_of_failing(world: World) -> None:
    hook = world.hook("push")
    world.arrive()
    lease = world.lease()
    (one,) = world.claim(lease, hook["id"])
    world.store.write_sync(record, [world.failure(lease, one)])
    failing = world.store.read_sync(hooks.by_id, hook["id"])["failing_since"]
    world.clock.advance(3)
    pause(world, hook)
    world.clock.advance(1000)
    assert resume(world, hook)["failing_since"] == failing + 1000 * SECOND


def test_a_failure_that_begins_in_a_pause_begins_with_its_end(world: World) -> None:
    hook = world.hook("push")
    world.arrive()
    lease = world.lease()
    (one,) = world.claim(lease, hook["id"])
    pause(world, hook)
    world.clock.advance(10)
    world.store.write_sync(record, [world.failure(lease, one)])
    world.clock.advance(10)
    assert resume(world, hook)["failing_since"] == world.now


def test_a_pause_is_no_failure_of_the_hook(world: World) -> None:
    hook = pause(world, world.hook("push"))
    assert resume(world, hook)["failing_since"] is None


def test_a_paused_hook_is_no_backlog(world: World) -> None:
    hook = world.hook("push")
    world.arrive()
    assert world.store.read_sync(stats.collect).due == 1
    pause(world, hook)
    found = world.store.read_sync(stats.collect)
    assert (found.due, found.later, found.oldest_due_at, found.paused) == (0, 0, None, 1)
    resume(world, hook)
    found = world.store.read_sync(stats.collect)
    assert (found.due, found.oldest_due_at, found.paused) == (1, world.now, 0)


def test_health_shows_it(world: World) -> None:
    hook, _ = pause(world, world.hook("push")), world.hook("push")
    (found,) = world.store.read_sync(hook_list.page, HookFilter(state="paused"), limit=10)
    assert (found["id"], found["paused_at"]) == (hook["id"], world.now)


def test_a_deleted_hook_is_not_paused(world: World) -> None:
    hook = pause(world, world.hook("push"))
    world.arrive()
    world.store.write_sync(hook_removal.delete, hook)
    assert world.store.read_sync(stats.collect).paused == 0
    assert len(world.claim(world.lease(), hook["id"])) == 1
    with pytest.raises(Missing):
        pause(world, hook)
