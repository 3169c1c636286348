"""The stored number of a commit's suites equals the number of rows after any event."""

import random

from issue_world import SHA, Platform
from store_world import World

from store import Connection, Row
from store.accounts import apps
from store.checks import check_counts, check_suites
from store.checks.check_suites import SuiteFilter
from store.clock import SECOND, iso
from store.delivery import sources
from store.repositories import repository_removal

COMMITS = (SHA, "b" * 40, "c" * 40)


def report(world: World, chance: random.Random) -> None:
    """Project an event of a suite, which may be late, unsigned, or of another commit."""
    platform = Platform(world)
    platform.source_id = chance.choice((0, sources.OPERATOR))
    suite = {
        "id": chance.randint(1, 9),
        "head_sha": chance.choice(COMMITS),
        "status": "queued",
        "updated_at": iso(world.now + chance.randint(-9, 9) * SECOND),
    }
    platform.report("check_suite", "requested", check_suite=suite)


def make_app(db: Connection, owner_id: int, name: str) -> Row:
    _, app = apps.create(db, owner_id, name, url="https://ci.example/", kind="integration")
    return app


def assert_counted(world: World) -> None:
    for sha in COMMITS:
        given = (world.repo["id"], sha, SuiteFilter())
        found = world.store.read_sync(check_suites.page, *given, limit=99, offset=0)
        assert world.store.read_sync(check_suites.count, *given) == len(found)


def test_suites_are_counted_by_commit(world: World) -> None:
    chance, store = random.Random(9), world.store
    made = [store.write_sync(make_app, world.user["id"], f"ci-{number}") for number in range(3)]
    for _ in range(60):
        if chance.random() < 0.7:
            report(world, chance)
        else:
            given = (chance.choice(COMMITS), chance.choice(made)["id"])
            store.write_sync(check_suites.of_app, world.repo["id"], *given)
        world.clock.advance(1)
        assert_counted(world)


def test_the_number_goes_with_the_repository(world: World) -> None:
    report(world, random.Random(1))
    world.store.write_sync(repository_removal.remove, world.repo)
    for sha in COMMITS:
        assert world.store.read_sync(check_counts.suites, world.repo["id"], sha) == 0
