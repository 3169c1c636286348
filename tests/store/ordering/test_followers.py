"""Followers: deliveries of a key that are claimed with the first one."""

from typing import Any

import pytest
from store_world import FakeNotifier, World

from store.database.notifications import Turn
from store.delivery import deliveries, leases
from store.delivery.deliveries import ClaimedDelivery
from store.delivery.outcomes.attempt_outcomes import record
from store.hooks import hooks
from store.ordering import followers
from store.ordering.delivery_states import BEHIND, DELIVERED, WAITING
from store.ordering.followers import Follower


@pytest.fixture
def hook_id(world: World) -> int:
    """A hook with five deliveries of one key."""
    world.store.notifier = FakeNotifier()
    made: int = world.hook(options={"ordering": "hook"})["id"]
    for number in range(5):
        world.arrive(f"g-{number}")
    return made


def first_of(world: World, hook_id: int, lease_id: int) -> ClaimedDelivery:
    (first,), _ = world.store.write_sync(deliveries.claim, [hook_id], lease_id, 10)
    assert isinstance(first, ClaimedDelivery)
    return first


def follow(world: World, first: ClaimedDelivery, lease_id: int, limit: int) -> list[Follower]:
    assert isinstance(first.turn, Turn)
    key = first.hook_id, first.turn.key
    found: list[Follower] = world.store.write_sync(
        followers.claim, key, (first.id, first.turn), lease_id, limit
    )
    return found


def states(world: World) -> list[tuple[Any, Any]]:
    return [(row["state"], row["lease_id"]) for row in world.rows()]


def test_followers_are_claimed_in_their_order(world: World, hook_id: int) -> None:
    lease_id = world.lease()
    first = first_of(world, hook_id, lease_id)
    found = follow(world, first, lease_id, 3)
    assert [one.turn.sequence for one in found] == [2, 3, 4]
    assert [one.id for one in found] == [first.id + step for step in (1, 2, 3)]
    assert states(world) == [(WAITING, lease_id), *[(BEHIND, lease_id)] * 3, (BEHIND, None)]


def test_another_lease_gets_none(world: World, hook_id: int) -> None:
    lease_id, other = world.lease(), world.lease()
    first = first_of(world, hook_id, lease_id)
    assert follow(world, first, other, 3) == []
    assert len(follow(world, first, lease_id, 1)) == 1
    assert follow(world, first, lease_id, 3) == [], "the next follower is in a request already"


def test_a_follower_gets_the_turn_after_its_first_ended(world: World, hook_id: int) -> None:
    lease_id = world.lease()
    first = first_of(world, hook_id, lease_id)
    follow(world, first, lease_id, 2)
    ended = world.outcome(lease_id, first, state=DELIVERED, turn=first.turn)
    world.store.write_sync(record, [ended])
    assert states(world)[1:3] == [(WAITING, lease_id), (BEHIND, lease_id)]
    # The worker crashes before it records the others.
    world.store.write_sync(leases.release, lease_id)
    assert states(world)[1:3] == [(WAITING, None), (BEHIND, None)]
    assert first_of(world, hook_id, world.lease()).id == first.id + 1


def test_a_changed_ordering_ends_the_batch(world: World, hook_id: int) -> None:
    world.store.write_sync(
        lambda db: hooks.update(db, hooks.by_id(db, hook_id), options={"ordering": "repository"})
    )
    world.arrive("g-later")
    lease_id = world.lease()
    first = first_of(world, hook_id, lease_id)
    assert [one.turn.sequence for one in follow(world, first, lease_id, 9)] == [2, 3, 4, 5]
