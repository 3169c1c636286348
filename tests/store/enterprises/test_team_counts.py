"""The stored numbers of teams and of their members equal the numbers of rows after any change."""

import random
from typing import Any

from store_world import World

from store import Connection, Row
from store.accounts import accounts, teams
from store.enterprises import (
    enterprise_memberships,
    enterprise_teams,
    enterprises,
    organization_teams,
    team_repositories,
)
from store.registry import account_removal
from store.repositories import repositories

ALL = {"limit": 99, "offset": 0}


def assert_members(db: Connection, organization_id: int, every: list[Row]) -> None:
    for team in every:
        total = organization_teams.count_members(db, organization_id, team)
        bounds: dict[str, Any] = {"total": total, **ALL}
        found = organization_teams.members(db, organization_id, team, "all", **bounds)
        assert len(found) == total


def assert_counted(db: Connection, organization_id: int, repo: Row, viewers: list[Row]) -> None:
    """Compare the counts of each viewer with the rows of the lists."""
    for viewer in viewers:
        for kind in ("organization", "enterprise", "all"):
            found = organization_teams.page(db, organization_id, viewer, kind, **ALL)
            assert organization_teams.count(db, organization_id, viewer, kind) == len(found)
        total = team_repositories.count(db, repo, viewer)
        bounds: dict[str, Any] = {"total": total, **ALL}
        assert len(team_repositories.page(db, repo, viewer, **bounds)) == total
    every = organization_teams.page(db, organization_id, {"owner": True}, "all", **ALL)
    assert_members(db, organization_id, every)


def change(
    db: Connection, tower: Row, repo: Row, people: list[int], chance: random.Random, name: str
) -> None:
    every = organization_teams.page(db, tower["id"], {"owner": True}, "all", **ALL)
    own = [team | {"organization_id": tower["id"]} for team in every if not team["enterprise_id"]]
    (theirs,) = [team for team in every if team["enterprise_id"]]
    some, privacy = chance.sample(people, 2), chance.choice(("secret", "closed"))
    match chance.randrange(6):
        case 0:
            teams.create(db, tower["id"], name, privacy=privacy)
        case 1 if own:
            teams.update(db, chance.choice(own), privacy=privacy)
        case 2 if own:
            teams.join(db, chance.choice(own)["id"], some)
        case 3 if own:
            team_repositories.put(db, chance.choice(own), repo, chance.choice(("read", "write")))
        case 4:
            enterprise_memberships.add(db, theirs, some)
        case _:
            enterprise_memberships.remove(db, theirs, some)


def begin(db: Connection, owner_id: int) -> tuple[Row, Row, list[int]]:
    tower = accounts.create(db, "tower", kind="Organization")
    accounts.join(db, tower["id"], owner_id, "admin")
    repo = repositories.create(db, tower["id"], "bells")
    people = [accounts.create(db, f"p{number}")["id"] for number in range(4)]
    for person in people:
        accounts.join(db, tower["id"], person, "member")
    globe = enterprises.create(db, "globe")
    enterprises.adopt(db, globe["id"], tower["id"])
    enterprise_teams.create(db, globe["id"], "ringers", selection="all")
    return tower, repo, people


def test_teams_and_their_members_are_counted(world: World) -> None:
    chance, store = random.Random(8), world.store
    tower, repo, people = store.write_sync(begin, world.user["id"])
    viewers = [{"id": world.user["id"], "owner": True}]
    viewers += [{"id": person, "owner": False} for person in people]
    for number in range(60):
        store.write_sync(change, tower, repo, people, chance, f"t{number}")
        store.read_sync(assert_counted, tower["id"], repo, viewers)
    gone = store.read_sync(accounts.get, people[0])
    assert gone is not None
    store.write_sync(account_removal.remove, gone)
    store.read_sync(assert_counted, tower["id"], repo, viewers[:1] + viewers[2:])
