"""Turns of keys: what is searched before one is given stays short, however many wait."""

from typing import Any

import pytest
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


class Spy:
    """A connection that keeps the plans of the statements that read, and returns other rows."""

    def __init__(self, db: Connection, postgres: bool) -> None:
        self.db, self.now = db, db.now
        self.explain = "EXPLAIN " if postgres else "EXPLAIN QUERY PLAN "
        self.plan = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.db, name)

    def tuples(self, sql: str, **given: Any) -> list[Any]:
        rows = self.db.tuples(self.explain + sql, **given)
        self.plan += "\n".join(str(row[-1]) for row in rows)
        return []

    def value(self, sql: str, **given: Any) -> int:
        self.tuples(sql, **given)
        return 1


def test_deliveries_before_a_barrier_are_found_by_their_sequence(
    world: World, hook_id: int, url: str
) -> None:
    def search(db: Connection) -> str:
        spy = Spy(db, url.startswith("postgres"))
        turns.lift_barriers(spy, {"hook_id": hook_id, "barriers": [2]})  # type: ignore[arg-type]
        return spy.plan

    assert "delivery_in_sequence" in world.store.write_sync(search)


def test_the_first_delivery_of_a_key_is_found_by_its_key(
    world: World, hook_id: int, url: str
) -> None:
    with transaction(world.store) as db:
        spy = Spy(db, url.startswith("postgres"))
        orderings = hook_ordering.lock(db, [hook_id])
        turns.settle(spy, [(hook_id, "k2000")], orderings)  # type: ignore[arg-type]
        plan = spy.plan
    assert "delivery_ordered" in plan
    assert "delivery_in_sequence" not in plan
