"""Figures of the installation, at a cost that does not grow with past deliveries."""

import re

import pytest
from statement_log import plan_lines
from store_world import World

from store import Connection, Store
from store.clock import SECOND
from store.database import migrations
from store.delivery import hook_removal, leases
from store.delivery.outcomes import attempt_outcomes
from store.hook_state import hook_pauses
from store.hooks import hooks
from store.jobs import jobs
from store.jobs.jobs import JobSchedule
from store.monitoring import stats
from store.monitoring.stats import SILENT, DeliveryStats
from store.ordering.delivery_states import DEAD
from store.projection import projection_cursor


def look(world: World) -> DeliveryStats:
    return world.store.read_sync(stats.collect)


def test_the_stats_of_an_empty_store(world: World) -> None:
    found = look(world)
    assert (found.oldest_due_at, found.due, found.later, found.held) == (None, 0, 0, 0)
    assert (found.age, found.lag, found.workers, found.jobs) == (0, 0, [], [])


def test_waiting_and_held_deliveries_are_counted(world: World) -> None:
    one, _ = world.hook("push"), world.hook("push")
    world.arrive("g-1")
    began = world.now
    world.clock.advance(5)
    world.arrive("g-2")
    assert look(world).oldest_due_at == began
    lease = world.lease()
    claimed = world.claim(lease, one["id"], limit=1)
    world.clock.advance(5)
    found = look(world)
    assert (found.due, found.later, found.held) == (3, 0, 1)
    assert (found.oldest_due_at, found.age) == (began, 10 * SECOND)
    # The failed delivery waits for its next attempt, which is not due yet.
    world.store.write_sync(attempt_outcomes.record, [world.failure(lease, claimed[0])])
    found = look(world)
    assert (found.due, found.later, found.held) == (3, 1, 0)
    assert found.oldest_due_at == began


def test_the_oldest_may_be_in_a_workers_hand(world: World) -> None:
    hook = world.hook("push")
    world.arrive("g-1")
    began = world.now
    world.claim(world.lease(), hook["id"])
    world.clock.advance(7)
    world.arrive("g-2")
    assert look(world).oldest_due_at == began


def test_a_delivery_that_is_not_due_has_no_age(world: World) -> None:
    hook = world.hook("push")
    world.arrive("g-1")
    lease = world.lease()
    (claimed,) = world.claim(lease, hook["id"])
    world.store.write_sync(attempt_outcomes.record, [world.failure(lease, claimed)])
    assert look(world).oldest_due_at is None
    world.clock.advance(61)
    assert look(world).age == SECOND


def test_ended_deliveries_are_not_counted(world: World) -> None:
    hook = world.hook("push")
    world.arrive("g-1")
    world.arrive("g-2")
    lease = world.lease()
    first, second = world.claim(lease, hook["id"])
    world.store.write_sync(attempt_outcomes.record, [world.outcome(lease, first)])
    world.store.write_sync(attempt_outcomes.record, [world.failure(lease, second, state=DEAD)])
    found = look(world)
    assert (found.due, found.later, found.held, found.oldest_due_at) == (0, 0, 0, None)


def test_hooks_in_trouble(world: World) -> None:
    first, second = world.hook("push"), world.hook("push")
    world.store.write_sync(hooks.disable, first["id"], "gone")
    world.arrive("g-1")
    lease = world.lease()
    (claimed,) = world.claim(lease, second["id"])
    world.store.write_sync(attempt_outcomes.record, [world.failure(lease, claimed)])
    found = look(world)
    assert (found.disabled, found.failing) == (1, 1)
    world.store.write_sync(
        hook_removal.delete, world.store.read_sync(hooks.get, world.repo["id"], first["id"])
    )
    world.store.write_sync(
        hook_removal.delete, world.store.read_sync(hooks.get, world.repo["id"], second["id"])
    )
    found = look(world)
    assert (found.disabled, found.failing) == (0, 0)


def test_counts_end_at_a_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "MOST", 3)
    world.hook("push")
    for at in range(5):
        world.arrive(f"g-{at}")
    assert look(world).due == 3


class TestLag:
    """The lag is how long deliveries wait for workers, not for their endpoints."""

    def waiting(self, world: World) -> None:
        world.hook("push")
        world.arrive("g-1")
        world.clock.advance(100)

    def test_without_a_worker_all_waits_for_one(self, world: World) -> None:
        self.waiting(world)
        assert look(world).lag == 100 * SECOND

    def test_nothing_waits_for_a_worker_that_keeps_up(self, world: World) -> None:
        self.waiting(world)
        lease = world.lease()
        world.store.write_sync(leases.renew, lease, 10 * SECOND)
        found = look(world)
        assert (found.age, found.lag) == (100 * SECOND, 0)
        (worker,) = found.workers
        assert (worker["holder"], worker["seen_at"]) == ("tests", world.now)

    def test_a_worker_reports_its_lag(self, world: World) -> None:
        self.waiting(world)
        lease = world.lease()
        world.store.write_sync(leases.renew, lease, 10 * SECOND, 42 * SECOND)
        assert look(world).lag == 42 * SECOND

    def test_a_worker_that_says_nothing_is_behind(self, world: World) -> None:
        self.waiting(world)
        world.lease()
        assert len(look(world).workers) == 1
        world.clock.advance(2 * SILENT / SECOND)
        found = look(world)
        assert (found.lag, found.workers) == (2 * SILENT, [])

    def test_without_due_deliveries_there_is_no_lag(self, world: World) -> None:
        lease = world.lease()
        world.store.write_sync(leases.renew, lease, 100 * SECOND, 42 * SECOND)
        world.clock.advance(50)
        assert look(world).lag == 0

    def test_a_lease_that_has_ended_is_no_worker(self, world: World) -> None:
        world.lease(SECOND)
        world.clock.advance(2)
        assert look(world).leases == []


def test_events_that_cannot_become_state_are_counted(world: World) -> None:
    lease = world.lease()
    assert look(world).events_left_out == 0
    world.store.write_sync(projection_cursor.claim, lease)
    for event_id in (1, 2):
        world.store.write_sync(projection_cursor.skip, event_id - 1, event_id)
    assert look(world).events_left_out == 2


def test_the_lag_of_the_state_is_the_age_of_an_event(world: World) -> None:
    assert look(world).state_lag == 0
    receipts = [world.arrive(f"g-{at}") for at in range(2)]
    world.clock.advance(60)
    assert look(world).state_lag == 60 * SECOND
    world.store.write_sync(projection_cursor.claim, world.lease())
    world.store.write_sync(projection_cursor.move, 0, receipts[1].event_id)
    assert look(world).state_lag == 0


def test_stats_of_jobs(world: World) -> None:
    world.store.write_sync(jobs.save_schedules, [JobSchedule("prune", "daily", world.now)])
    (job,) = look(world).jobs
    assert (job["name"], job["failures"]) == ("prune", 0)


def test_writing_is_tried(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for shard in (1, 2, 1, 2):
        monkeypatch.setattr(stats, "own_shard", lambda shard=shard: shard)
        world.store.write_sync(stats.probe)
    rows = world.store.read_sync(lambda db: db.all("SELECT id, tried_at FROM probe ORDER BY id"))
    assert rows == [{"id": place, "tried_at": world.now} for place in (1, 2)]


def test_migrations_of_a_newer_program_are_counted(store: Store) -> None:
    assert store.read_sync(stats.migrations_ahead) == 0
    newest = migrations.steps()[-1][0]
    store.write_sync(
        lambda db: db.execute(
            "INSERT INTO migration (number, name, applied_at) VALUES (:number, 'new', 0)",
            number=newest + 3,
        )
    )
    assert store.read_sync(stats.migrations_ahead) == 3


def test_later_deliveries_of_one_hook_do_not_hide_due_ones_of_another(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats, "MOST", 4)
    one, other = (world.hook("push")["id"] for _ in range(2))
    wait(world, one, 6, world.now + stats.LATE)
    wait(world, other, 3, world.now)
    assert world.store.read_sync(stats.count_waiting) == (3, 0, 4)
    wait(world, other, 2, world.now - stats.LATE)
    assert world.store.read_sync(stats.count_waiting) == (4, 2, 4)


def test_deliveries_of_a_paused_hook_use_up_no_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats, "MOST", 4)
    paused, other = world.hook("push"), world.hook("push")
    world.store.write_sync(hook_pauses.pause, paused)
    wait(world, paused["id"], 6, world.now)
    wait(world, other["id"], 1, world.now)
    wait(world, other["id"], 1, world.now + SECOND)
    assert world.store.read_sync(stats.count_waiting) == (1, 0, 1)


def wait(world: World, hook_id: int, many: int, due_at: int) -> None:
    """Add waiting deliveries of a hook."""
    rows = [(at, hook_id, world.repo["id"], 0, due_at) for at in range(many)]
    world.store.write_sync(
        lambda db: db.insert_many("delivery", "event_id, hook_id, repo_id, state, due_at", rows)
    )


def test_ended_deliveries_do_not_slow_the_statistics(world: World, url: str) -> None:
    """The queries read only indexes that leave out ended deliveries."""
    hook_ids = [world.hook("push")["id"] for _ in range(3)]
    world.arrive("g-1")
    world.claim(world.lease(), hook_ids[0])
    many = 3_000
    rows = [(at, hook_ids[at % 3], world.repo["id"], 1, at) for at in range(many)]
    world.store.write_sync(
        lambda db: db.insert_many("delivery", "event_id, hook_id, repo_id, state, due_at", rows)
    )
    world.store.write_sync(lambda db: db.execute("ANALYZE"))
    steps = world.store.write_sync(scans)
    assert steps
    for step in steps:
        assert "Seq Scan" not in step, steps
        assert "SCAN x" not in step or "INDEX delivery_" in step, steps


def scans(db: Connection) -> list[str]:
    """Return the lines of the statements' plans that say how tables are read."""

    def read(db: Connection) -> None:
        stats.oldest_due_at(db)
        stats.count_waiting(db)
        stats.count_held(db)

    lines = plan_lines(db, read)
    return [line for line in lines if re.search(r"(?i)\b(scan|search)\b.*\bx\b", line)]
