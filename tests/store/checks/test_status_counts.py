"""The stored counts of a commit's contexts equal a count of the newest statuses."""

import random
from collections import Counter

from issue_world import SHA, Platform
from store_world import World

from store import Connection
from store.checks import commit_statuses, status_counts
from store.checks.commit_statuses import STATES
from store.clock import SECOND, iso
from store.repositories import repository_removal

OTHER = "b" * 40
CONTEXTS = ("lint", "Lint", "tone", "default")


def newest(db: Connection, repo_id: int, sha: str) -> Counter[str]:
    rows = db.tuples(
        "SELECT context_key, state FROM commit_status WHERE repo_id = :repo_id AND sha = :sha"
        " ORDER BY created_at, id",
        repo_id=repo_id,
        sha=sha,
    )
    return Counter(dict(rows).values())


def assert_counted(world: World) -> None:
    for sha in (SHA, OTHER):
        counted = world.store.read_sync(status_counts.states, world.repo["id"], sha)
        assert counted == world.store.read_sync(newest, world.repo["id"], sha)


def test_the_newest_status_of_each_context_is_counted(world: World) -> None:
    """Statuses are made here, and come from a platform, late and more than once."""
    chance, platform = random.Random(3), Platform(world)
    for _ in range(60):
        sha, context = chance.choice((SHA, OTHER)), chance.choice(CONTEXTS)
        fields = {"state": chance.choice(STATES), "context": context}
        if chance.random() < 0.5:
            given = (world.repo["id"], sha, world.user["id"], fields)
            world.store.write_sync(commit_statuses.create, *given)
        else:
            at = iso(world.now + chance.randint(-9, 9) * SECOND)
            platform.report("status", id=chance.randint(1, 40), sha=sha, created_at=at, **fields)
        world.clock.advance(chance.randint(0, 2))
        assert_counted(world)


def test_a_status_that_needs_another_number_counts_once(world: World) -> None:
    Platform(world).report("status", id=2, sha=OTHER, state="success")
    fields = {"state": "pending", "context": "lint"}
    given = (world.repo["id"], SHA, world.user["id"], fields)
    made = world.store.write_sync(commit_statuses.create, *given)
    assert made["number"] > 2
    assert_counted(world)


def test_the_counts_go_with_the_repository(world: World) -> None:
    Platform(world).report("status", id=1, sha=SHA, state="success")
    world.store.write_sync(repository_removal.remove, world.repo)
    count = "SELECT count(*) FROM commit_status_tally"
    assert world.store.read_sync(lambda db: db.value(count)) == 0
