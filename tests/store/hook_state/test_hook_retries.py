"""Retries at once: what waits is due, rests end, and paused hooks are left alone."""

import pytest
from statement_log import plan_lines
from store_world import FakeNotifier, World

from store import Connection, Row
from store.clock import HOUR
from store.delivery import hook_removal
from store.delivery.outcomes.attempt_outcomes import record
from store.errors import Conflict, Missing
from store.hook_state import hook_pauses, hook_retries
from store.hooks import hooks


def retry_now(world: World, hook: Row) -> int:
    return world.store.write_sync(hook_retries.retry_now, hook)


def failed(world: World, hook: Row, many: int = 2) -> None:
    """Fail `many` deliveries of a hook, which wait for an hour, as the hook itself does."""
    for at in range(many):
        world.arrive(f"g-{hook['id']}-{at}")
    lease, later = world.lease(), world.now + HOUR
    claimed = world.claim(lease, hook["id"])
    rest = {"due_at": later, "cooldown_until": later, "held_until": later}
    outcomes = [world.failure(lease, one, **rest) for one in claimed]
    world.store.write_sync(record, outcomes)


def test_waiting_deliveries_are_due_at_once(world: World) -> None:
    hook = world.hook("push")
    failed(world, hook)
    assert world.claim(world.lease(), hook["id"]) == []
    assert retry_now(world, hook) == 2
    assert len(world.claim(world.lease(), hook["id"])) == 2


def test_rests_end_and_workers_notice_the_change(world: World) -> None:
    hook = world.hook("push")
    failed(world, hook)
    before = world.store.read_sync(hooks.by_id, hook["id"])
    assert before is not None
    notifier = world.store.notifier = FakeNotifier()
    retry_now(world, hook)
    row = world.store.read_sync(lambda db: db.one("SELECT * FROM hook WHERE id = 1"))
    assert row is not None
    assert (row["resting_until"], row["held_until"]) == (None, None)
    assert row["failing_since"] == world.now
    assert row["version"] == before["version"] + 1
    assert notifier.woken == [hook["id"]]


def test_other_deliveries_stay(world: World) -> None:
    hook, other = world.hook("push"), world.hook("push")
    failed(world, hook, 1)
    failed(world, other, 1)
    world.arrive("held")
    held = {one.id for one in world.claim(world.lease(), hook["id"])}
    before = {row["id"]: row for row in world.rows()}
    retry_now(world, hook)
    for row in world.rows():
        is_changed = row["hook_id"] == hook["id"] and row["id"] not in held
        assert (row == before[row["id"]]) is not (is_changed and row["state"] == 0)


def test_a_hook_that_is_paused_or_off_is_left_alone(world: World) -> None:
    paused, off = world.hook("push"), world.hook("push")
    failed(world, paused)
    failed(world, off)
    world.store.write_sync(hook_pauses.pause, paused)
    world.store.write_sync(hooks.update, off, active=False)
    before = world.rows()
    for hook, said in ((paused, "paused"), (off, "inactive")):
        with pytest.raises(Conflict, match=said):
            retry_now(world, hook)
    assert world.rows() == before


def test_a_pull_hook_is_left_to_its_receiver(world: World) -> None:
    hook = world.hook("push", url="pull:retried")
    world.arrive("g-1")
    before = world.rows()
    assert len(before) == 1
    world.clock.advance(3600)
    with pytest.raises(Conflict, match="its receiver fetches"):
        retry_now(world, hook)
    assert world.rows() == before


def test_a_retry_reads_no_table_in_full(world: World) -> None:
    hook, other = world.hook("push"), world.hook("push")

    def planned(db: Connection) -> list[str]:
        rows = [(1, one["id"], 1, 0, db.now + HOUR) for one in (hook, other) for _ in range(20_000)]
        db.insert_many("delivery", "event_id, hook_id, repo_id, state, due_at", rows)
        db.execute("ANALYZE")
        return plan_lines(db, lambda db: hook_retries.retry_now(db, hook))

    lines = world.store.write_sync(planned)
    assert any("delivery_due" in line for line in lines)
    full = ("Seq Scan on delivery", "SCAN d", "SCAN delivery")
    assert [line for line in lines if any(scan in line for scan in full)] == []


def test_a_deleted_hook_is_missing(world: World) -> None:
    hook = world.hook("push")
    world.store.write_sync(hook_removal.delete, hook)
    with pytest.raises(Missing):
        retry_now(world, hook)
