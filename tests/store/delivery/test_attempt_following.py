"""Following attempts while several workers record them."""

from collections.abc import Callable

from engines import served
from store_world import World

from store import Store
from store.delivery.attempt_filter import AttemptFilter
from store.delivery.listing.attempt_following import FeedPosition, advance
from store.delivery.outcomes import attempt_outcomes

pytestmark = served("SQLite has one writer at a time")


def test_an_attempt_that_appears_late_is_followed_once(
    world: World, opened: Callable[[], Store]
) -> None:
    hook = world.hook("push")
    for number in range(2):
        world.arrive(f"g-{number}")
    lease = world.lease()
    slow, quick = world.claim(lease, hook["id"])
    session = opened().engine.session()
    session.begin(world.now, write=True)
    found, at = [], FeedPosition(0)
    try:
        attempt_outcomes.record(session.db, [world.outcome(lease, slow)])
        world.store.write_sync(attempt_outcomes.record, [world.outcome(lease, quick)])
        for _ in range(3):
            rows, at = world.store.read_sync(advance, AttemptFilter(), at, 10)
            found += rows
        assert [row["delivery_id"] for row in found] == [quick.id]
        assert at.after == 0
        session.commit()
    finally:
        session.close()
    for _ in range(3):
        rows, at = world.store.read_sync(advance, AttemptFilter(), at, 10)
        found += rows
    assert [row["delivery_id"] for row in found] == [quick.id, slow.id]
    assert at.after == at.newest == max(row["id"] for row in found)
    assert at.seen == frozenset()
