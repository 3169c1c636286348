"""The stored numbers of an owner's repositories equal the numbers of rows after any change."""

import random

import pytest
from platform_events import report
from store_world import World

from store import Connection, Row
from store.accounts import accounts
from store.accounts.viewers import RepositoryViewer
from store.repositories import repositories, repository_lists, repository_removal
from store.repositories.repository_lists import RepositoryFilter


def viewers(world: World) -> list[RepositoryViewer]:
    owner = {"id": world.user["id"], "site_admin": 0}
    others = [{"id": world.user["id"] + 1, "site_admin": site_admin} for site_admin in (0, 1)]
    accounts_ = [None, owner, *others]
    return [
        RepositoryViewer(account, private, target_id=target_id)
        for account in accounts_
        for private in (False, True)
        for target_id in (None, world.user["id"], world.user["id"] + 1)
    ]


def assert_counted(world: World) -> None:
    for viewer in viewers(world):
        for private in (None, False, True):
            chosen = RepositoryFilter(viewer, world.user["id"], private=private)
            assert world.store.read_sync(counts, chosen) == world.store.read_sync(rows, chosen)


def counts(db: Connection, chosen: RepositoryFilter) -> list[int]:
    return [repository_lists.count(db, chosen), repository_lists.count(db, chosen, 2)]


def rows(db: Connection, chosen: RepositoryFilter) -> list[int]:
    order = {"sort": "created", "descending": False}
    found = len(repository_lists.page(db, chosen, limit=99, offset=0, **order))
    return [found, min(found, 2)]


def change(db: Connection, world: World, repo: Row, chance: random.Random, name: str) -> None:
    match chance.randrange(4):
        case 0:
            repositories.create(db, world.user["id"], name, private=chance.random() < 0.5)
        case 1 | 2:
            private = chance.random() < 0.5
            repositories.update(db, repo["id"], private=private, description=name)
        case _:
            repository_removal.remove(db, repo)


def visibility(world: World, repo: Row, chance: random.Random) -> None:
    """Project an event that says whether the repository is private."""
    event = chance.choice(("public", "repository.publicized", "repository.edited"))
    reported = {"name": repo["name"], "private": event == "repository.edited"}
    report(world.store, repo, event, repository=reported)


def test_repositories_are_counted(world: World) -> None:
    chance = random.Random(6)
    world.store.write_sync(accounts.create, "eve")
    for number in range(50):
        every = world.store.read_sync(lambda db: db.column("SELECT id FROM repository ORDER BY id"))
        if not every:
            world.another_repo(f"again-{number}")
            continue
        repo = world.store.read_sync(repositories.get, chance.choice(every))
        assert repo is not None
        if chance.random() < 0.4:
            visibility(world, repo, chance)
        else:
            world.store.write_sync(change, world, repo, chance, f"r{number}")
        assert_counted(world)


@pytest.mark.parametrize("private", [False, True])
def test_a_repository_that_keeps_its_visibility_stays_counted(world: World, private: bool) -> None:
    for _ in range(2):
        given = {"private": private, "description": None}
        world.store.write_sync(repositories.update, world.repo["id"], **given)
        assert_counted(world)
