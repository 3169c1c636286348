"""The stored counts of branches and tags equal the numbers of rows after any change."""

import random

from store_world import World

from store import Connection
from store.repositories import ref_counts, refs, repository_removal

NAMES = tuple(f"refs/{folder}/{name}" for folder in ("heads", "tags") for name in "abc")


def assert_counted(world: World) -> None:
    for prefix in (refs.BRANCHES, refs.TAGS):
        rows = world.store.read_sync(refs.page, world.repo["id"], prefix)
        assert world.store.read_sync(refs.count, world.repo["id"], prefix) == len(rows)


def change(db: Connection, repo_id: int, chance: random.Random) -> None:
    name, sha = chance.choice(NAMES), chance.choice("0123456789abcdef") * 40
    match chance.randrange(5):
        case 0 | 1 | 2:
            refs.put(db, repo_id, name, sha)
        case 3:
            refs.delete(db, repo_id, name)
        case _:
            refs.replace(db, repo_id, dict.fromkeys(chance.sample(NAMES, 3), sha))


def test_branches_and_tags_are_counted(world: World) -> None:
    chance = random.Random(5)
    for _ in range(40):
        world.store.write_sync(change, world.repo["id"], chance)
        assert_counted(world)


def test_the_counts_go_with_the_repository(world: World) -> None:
    world.store.write_sync(refs.put, world.repo["id"], NAMES[0], "a" * 40)
    world.store.write_sync(repository_removal.remove, world.repo)
    assert world.store.read_sync(ref_counts.total, world.repo["id"], "refs/heads") == 0
