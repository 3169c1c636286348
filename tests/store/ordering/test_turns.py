"""Turns of keys: what is searched before one is given stays short, however many wait."""

import pytest
from statement_log import plan_lines
from store_world import World
from transactions import transaction

from store import Connection
from store.hooks import hook_ordering
from store.ordering import turns
from store.ordering.delivery_states import BEHIND


@pytest.fixture
def hook_id(world: World) -> int:
    """An ordered hook with 3,000 deliveries behind, of as many keys."""
    hook_id: int = world.hook("push", options={"ordering": "hook"})["id"]
    rows = [
        (at, hook_id, world.repo["id"], BEHIND, world.now, f"k{at}", at) for at in range(1, 3001)
    ]
    columns = "event_id, hook_id, repo_id, state, due_at, ordering_key, sequence"
    world.store.write_sync(lambda db: db.insert_many("delivery", columns, rows))
    world.store.write_sync(lambda db: db.execute("ANALYZE"))
    return hook_id


def test_deliveries_before_a_barrier_are_found_by_their_sequence(
    world: World, hook_id: int
) -> None:
    def lift(db: Connection) -> None:
        turns.lift_barriers(db, {"hook_id": hook_id, "barriers": [2]})

    lines = world.store.write_sync(plan_lines, lift)
    assert [line for line in lines if "delivery_in_sequence" in line]


def test_the_first_delivery_of_a_key_is_found_by_its_key(world: World, hook_id: int) -> None:
    with transaction(world.store) as db:
        orderings = hook_ordering.lock(db, [hook_id])
        lines = plan_lines(db, lambda db: turns.settle(db, [(hook_id, "k2000")], orderings))
    plan = "\n".join(lines)
    assert "delivery_ordered" in plan
    assert "delivery_in_sequence" not in plan
