"""The last attempts of hooks are looked for once for each hook, also by a bad plan."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from engines import served
from statement_log import noted
from store_world import World

from store import Connection
from store.alerts import hook_checks, problems, trouble
from store.hook_state import hook_health

pytestmark = served("SQLite never joins by a subquery for each pair of rows")

HOOKS, ATTEMPTS = 20, 30
# Without these, the planner can only look at each pair of rows.
BETTER_WAYS = ("hashjoin", "mergejoin", "indexscan", "indexonlyscan", "bitmapscan")
COLUMNS = (
    "delivery_id, hook_id, event_id, repo_id, number, redelivery, started_at, duration, error, url,"
    " timings, request_head"
)
Call = Callable[[Connection], object]


@pytest.fixture
def failing(world: World) -> World:
    """Hooks that fail, each with some attempts."""
    made = [world.hook("push", url=f"https://receiver.example/{at}") for at in range(HOOKS)]

    def fill(db: Connection) -> None:
        rows = [
            (at, hook["id"], at, 1, 1, 0, db.now, 1, "connect: refused", hook["url"], "{}", "")
            for at in range(ATTEMPTS)
            for hook in made
        ]
        db.insert_many("attempt", COLUMNS, rows)
        db.execute("UPDATE hook SET failing_since = :now, resting_until = :now")

    world.store.write_sync(fill)
    return world


def latest_failures(db: Connection) -> object:
    return problems.list_all(db, None)


def last_rest(db: Connection) -> object:
    hook = db.one("SELECT id, updated_at FROM hook ORDER BY id LIMIT 1")
    assert hook is not None
    return hook_health.last_rest(db, hook)


@pytest.mark.parametrize(
    "call",
    [
        latest_failures,
        last_rest,
        hook_checks.to_open,
        lambda db: trouble.exists(db, None),
        lambda db: hook_health.recent_attempts(db, range(1, HOOKS + 1)),
    ],
    ids=["problems", "rest", "rules", "trouble", "health"],
)
def test_the_last_attempt_of_a_hook_is_looked_for_once(failing: World, call: Call) -> None:
    def explained(db: Connection) -> list[Any]:
        # Other tests may have left statistics of other rows.
        db.execute("ANALYZE attempt, hook")
        for way in BETTER_WAYS:
            db.execute(f"SET LOCAL enable_{way} = off")
        with noted(db) as asked:
            call(db)
        return [
            db.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", **given)
            for sql, given in asked
            if "attempt x" in sql
        ]

    found = failing.store.write_sync(explained)
    loops = [times for (plan,) in found for times in loops_of_lookups(plan["Plan"])]
    assert loops
    assert max(loops) <= HOOKS


def loops_of_lookups(node: dict[str, Any]) -> Iterator[int]:
    """Yield how often each subquery of a plan that looks for attempts was run."""
    if node.get("Relation Name") == "attempt" and node.get("Alias", "").startswith("x"):
        yield node["Actual Loops"]
    for inner in node.get("Plans", ()):
        yield from loops_of_lookups(inner)
