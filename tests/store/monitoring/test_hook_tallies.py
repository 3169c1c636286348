"""Each hook's attempts are counted by status code and duration, and old slots become hours."""

from typing import Any

from store_world import World

from store.clock import HOUR, MINUTE, SECOND
from store.delivery.outcomes import attempt_outcomes
from store.monitoring import hook_tallies
from store.monitoring.hook_tallies import HookCounts
from store.ordering.delivery_states import DEAD, WAITING


def counted(world: World, *hook_ids: int, step: int = 5, hours: int = 1) -> dict[int, HookCounts]:
    until = world.now // MINUTE // 60 * 60 + 60
    return world.store.read_sync(hook_tallies.between, hook_ids, until - 60 * hours, until, step)


def send(world: World, hook: Any, *given: dict[str, Any]) -> None:
    lease = world.lease()
    for number in range(len(given)):
        world.arrive(f"g-{world.now}-{number}")
    claimed = world.claim(lease, hook["id"])
    outcomes = [
        world.outcome(lease, one, **about) for one, about in zip(claimed, given, strict=True)
    ]
    counts: hook_tallies.Counts = {}
    attempt_outcomes.tally(counts, outcomes)
    world.store.write_sync(hook_tallies.write, counts)


def test_codes_and_durations_of_a_hook(world: World) -> None:
    hook, other = world.hook("push"), world.hook("star")
    send(
        world,
        hook,
        *({"duration": 40_000} for _ in range(8)),
        {"status_code": 503, "duration": 2 * SECOND, "state": WAITING},
        {"status_code": None, "error": "connect: refused", "state": WAITING},
        {"status_code": 200, "error": "body: cut", "state": WAITING},
    )
    (found,) = counted(world, hook["id"]).values()
    assert found.codes == {200: 8, 503: 1, 0: 2}
    assert (found.total, found.succeeded, found.of_class(5), found.of_class(0)) == (11, 8, 1, 2)
    median = found.quantile(0.5)
    assert median is not None
    assert 25_000 < median <= 50_000
    assert counted(world, other["id"]) == {}
    assert counted(world) == {}


def test_old_slots_become_hours_and_nothing_is_lost(world: World) -> None:
    hook = world.hook("push")
    for _ in range(6):
        send(world, hook, {}, {"status_code": 500, "state": DEAD})
        world.clock.advance(seconds=20 * 60)
    before = counted(world, hook["id"], step=60, hours=4)
    cutoff = world.now // HOUR * HOUR + 30 * MINUTE
    while world.store.write_sync(hook_tallies.merge, cutoff, 3) == 3:
        pass
    assert counted(world, hook["id"], step=60, hours=4) == before
    rows = world.store.read_sync(
        lambda db: db.tuples("SELECT DISTINCT minute FROM hook_tally ORDER BY minute")
    )
    old = [minute for (minute,) in rows if minute * MINUTE < cutoff // HOUR * HOUR]
    assert old
    assert all(minute % 60 == 0 for minute in old)
    assert world.store.write_sync(hook_tallies.drop, world.now + HOUR, 100) == 2 * len(rows)
    assert counted(world, hook["id"], hours=9) == {}
