"""Counters of the events and deliveries of each minute."""

import os
import runpy
from collections.abc import Sequence
from typing import Any

import pytest
from statement_log import statements
from store_world import URL, World

from store.clock import MINUTE, SECOND
from store.delivery import deliveries, events, exhausted, leases
from store.delivery.outcomes import attempt_outcomes
from store.hooks import hooks
from store.hooks.hook_targets import SYSTEM, organization
from store.monitoring import minute_counters, shards
from store.monitoring.minute_counters import BOUNDS, EVENTS, FIRST, PeriodCounts
from store.ordering import operations
from store.ordering.delivery_states import DEAD


def counted(
    world: World, repo_ids: list[int] | None = None, step: int = 1, orgs: Sequence[int] = ()
) -> dict[int, PeriodCounts]:
    first = world.now // MINUTE - 10
    found = world.store.read_sync(minute_counters.between, first, first + 20, step, repo_ids, orgs)
    return {minute - first: tally for minute, tally in found.items()}


def total(found: dict[int, PeriodCounts]) -> tuple[int, int, int]:
    return (
        sum(one.events for one in found.values()),
        sum(one.delivered for one in found.values()),
        sum(one.failed for one in found.values()),
    )


def test_events_and_attempts(world: World) -> None:
    hook, lease = world.hook("push"), world.lease()
    for number in range(3):
        world.arrive(f"g-{number}")
    world.arrive("g-1")
    first, second, third = world.claim(lease, hook["id"])
    world.store.write_sync(
        attempt_outcomes.record,
        [
            world.outcome(lease, first, accepted_at=world.now, duration=4000),
            world.outcome(lease, second, accepted_at=world.now - 60 * SECOND, duration=4000),
            world.failure(lease, third, accepted_at=world.now),
        ],
    )
    found = counted(world)
    assert list(found) == [10]
    assert total(found) == (3, 2, 1)
    assert sum(found[10].ranges) == 2
    assert total(counted(world, [world.repo["id"]])) == (3, 2, 1)
    assert total(counted(world, [])) == (0, 0, 0)


def test_events_are_counted_for_each_repository_and_for_all(world: World) -> None:
    other = world.another_repo()
    world.arrive("a")
    world.arrive("b", repo_id=other["id"])
    world.arrive("c", repo_id=0)
    assert total(counted(world)) == (3, 0, 0)
    assert total(counted(world, [other["id"]])) == (1, 0, 0)
    assert total(counted(world, [other["id"], world.repo["id"]])) == (2, 0, 0)


def test_other_hooks_count_for_the_installation_alone(world: World) -> None:
    """The repository's administrators see neither such a hook nor its deliveries."""
    own, lease = world.hook("push"), world.lease()
    ordered = {"ordering": {"path": "/ref"}}
    around = world.store.write_sync(hooks.create, SYSTEM, url=URL, events=["push"], options=ordered)
    follower = "INSERT INTO subscription (repo_id, event, hook_id) VALUES (:repo_id, 'push', -1)"
    world.store.write_sync(lambda db: db.execute(follower, repo_id=world.repo["id"]))
    for number in range(4):
        world.arrive(f"g-{number}")
    mine, theirs = (world.claim(lease, one) for one in (own["id"], -1))
    (first,) = world.claim(lease, around["id"])
    failed = world.failure(lease, first, state=DEAD)
    outcomes = [*(world.outcome(lease, one) for one in (*mine[:3], *theirs[:3])), failed]
    world.store.write_sync(attempt_outcomes.record, outcomes)
    for left in (mine[3], theirs[3]):
        world.store.write_sync(deliveries.mark_dead, lease, [left.id], "gone")
    world.store.write_sync(operations.discard, around["id"], "main")
    found = (counted(world), counted(world, [world.repo["id"]]))
    assert [total(one) for one in found] == [(4, 6, 1), (4, 3, 0)]
    assert [one[10].dead for one in found] == [6, 1]


def test_hooks_of_an_organization_count_for_the_organization(world: World) -> None:
    """Its owners see all of them, and who administers one of its repositories sees none."""
    owner, lease = organization(world.repo["owner_id"]), world.lease()
    wide = world.store.write_sync(hooks.create, owner, url=URL, events=["push", "team"])
    world.arrive("a")
    world.arrive("b")
    world.arrive("c", name="team", repo_id=0, org_id=owner.id)
    first, second, third = world.claim(lease, wide["id"])
    outcomes = [world.outcome(lease, first), world.failure(lease, second)]
    world.store.write_sync(attempt_outcomes.record, outcomes)
    world.store.write_sync(deliveries.mark_dead, lease, [third.id], "gone")
    found = [counted(world, repos, orgs=orgs) for repos, orgs in (
        (None, []), ([], [owner.id]), ([world.repo["id"]], []), ([world.repo["id"]], [owner.id]),
    )]  # fmt: skip
    assert [total(one) for one in found] == [(3, 1, 1), (1, 1, 1), (2, 0, 0), (3, 1, 1)]
    assert [one[10].dead for one in found] == [1, 1, 0, 1]


def test_a_late_failure_of_a_delivered_delivery_is_no_death(world: World) -> None:
    """A worker whose lease has expired records its last attempt, too."""
    hook = world.hook("push")
    world.arrive("a")
    world.arrive("b")
    slow = world.lease(SECOND)
    first, second = world.claim(slow, hook["id"])
    world.clock.advance(2)
    world.store.write_sync(leases.release_expired)
    lease = world.lease()
    (quick,) = world.claim(lease, hook["id"], limit=1)
    world.store.write_sync(attempt_outcomes.record, [world.outcome(lease, quick)])
    late = [world.failure(slow, one, state=DEAD) for one in (first, second)]
    world.store.write_sync(attempt_outcomes.record, late)
    assert [outcome.died for outcome in late] == [False, False]
    last = world.failure(lease, *world.claim(lease, hook["id"]), state=DEAD)
    world.store.write_sync(attempt_outcomes.record, [last])
    assert last.died
    (counts,) = counted(world).values()
    assert (counts.delivered, counts.failed, counts.dead) == (1, 3, 1)
    world.clock.advance(1)
    (row,) = world.store.read_sync(exhausted.list_older, 0, 9)
    assert (row["many"], row["first_id"]) == (1, last.delivery_id)


def test_minutes_and_steps(world: World) -> None:
    for number in range(4):
        world.arrive(f"g-{number}")
        world.clock.advance(seconds=60)
    assert [one.events for one in counted(world).values()] == [1, 1, 1, 1]
    found = counted(world, step=5)
    assert {minute: one.events for minute, one in found.items()} == {5: 4}


def test_latency_ends_when_a_fetched_delivery_is_answered(world: World) -> None:
    """The receiver says how long its work took, without the time for which it held the delivery."""
    hook, lease = world.hook("push"), world.lease()
    world.arrive()
    (claimed,) = world.claim(lease, hook["id"])
    times = {"accepted_at": world.now, "duration": 5000, "recorded_at": world.now + 30 * SECOND}
    world.store.write_sync(attempt_outcomes.record, [world.outcome(lease, claimed, **times)])
    (one,) = counted(world).values()
    latency = one.quantile(0.5)
    assert latency is not None
    assert 20 * SECOND <= latency <= 30 * SECOND


def test_a_second_attempt_is_not_counted_as_latency(world: World) -> None:
    hook, lease = world.hook("push"), world.lease()
    world.arrive("a")
    (one,) = world.claim(lease, hook["id"])
    world.store.write_sync(
        attempt_outcomes.record, [world.outcome(lease, one, number=2, accepted_at=world.now)]
    )
    (found,) = counted(world).values()
    assert (found.delivered, sum(found.ranges)) == (1, 0)


def test_many_events_take_as_many_statements_as_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrivals = [world.arrival(f"g-{number}") for number in range(50)]
    asked = statements(monkeypatch)
    costs = []
    for some in (arrivals[:1], arrivals[1:]):
        asked.clear()
        world.store.write_sync(events.accept, some)
        costs.append(len([one for one in asked if "tally" in one]))
    # One statement is for the repository's row, and one for the row of all repositories.
    assert costs == [2, 2]


def test_processes_with_one_id_have_shards_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # As in containers, where each process has the id 1.
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert len({runpy.run_path(shards.__file__)["own_shard"]() for _ in range(6)}) > 1


def test_nothing_that_was_undone_is_counted(world: World) -> None:
    def fail(db: Any) -> None:
        events.accept(db, [world.arrival("a")])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        world.store.write_sync(fail)
    assert total(counted(world)) == (0, 0, 0)


def test_quantiles_of_latencies() -> None:
    tally = PeriodCounts()
    assert tally.quantile(0.5) is None
    for latency in [*range(1000, 100_000, 1000), 10**9]:
        tally.ranges[minute_counters.bucket_of(latency) - minute_counters.FIRST] += 1
    found = [tally.quantile(share) for share in (0.0, 0.5, 0.95, 1.0)]
    assert found == sorted(found)
    assert found[1] == pytest.approx(50_000, rel=0.05)
    assert found[2] == pytest.approx(95_000, rel=0.06)
    assert found[3] == BOUNDS[-1]


def test_bounds_are_in_order() -> None:
    assert list(BOUNDS) == sorted(set(BOUNDS))
    assert (BOUNDS[0], BOUNDS[-1]) == (1000, 50_000_000)
    assert len(minute_counters.RANGES) == 30


def test_old_counters_are_dropped(world: World) -> None:
    for number in range(5):
        world.arrive(f"g-{number}")
        world.clock.advance(seconds=60)
    limit = world.now - 2 * MINUTE
    # Each minute has a row for the repository, and one for all repositories.
    assert world.store.write_sync(minute_counters.drop, limit, 2) == 2
    assert world.store.write_sync(minute_counters.drop, limit, 100) == 4
    assert world.store.write_sync(minute_counters.drop, limit, 100) == 0
    assert total(counted(world)) == (2, 0, 0)


def test_a_repository_has_its_own_ranges_among_those_of_all(world: World) -> None:
    """Only ranges that the installation has counted are added up."""
    other = world.another_repo()
    for repo, place in ((world.repo, FIRST), (other, FIRST + 3), (other, EVENTS)):
        world.store.write_sync(minute_counters.increment, (repo["id"], [place]))
    found = [counted(world, [repo["id"]]) for repo in (world.repo, other)]
    assert [[at for at, many in enumerate(one[10].ranges) if many] for one in found] == [[0], [3]]
    assert [total(one) for one in found] == [(0, 0, 0), (1, 0, 0)]
    assert counted(world, [10**6]) == {}
