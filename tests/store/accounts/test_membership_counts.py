"""The stored numbers of memberships equal the numbers of rows after any change."""

import random

import pytest
from store_world import World

from store import Connection
from store.accounts import accounts, memberships
from store.accounts.memberships import OwnSelection
from store.delivery import hook_removal
from store.registry import account_removal


def counted(db: Connection, account_id: int, organizations: list[int]) -> None:
    """Compare the count of each selection with its rows."""
    for public in (False, True):
        for among in (None, organizations[:2], *([one] for one in organizations)):
            for refusing in ([], organizations[:1], organizations[1:]):
                chosen = OwnSelection(account_id, public, among, refusing)
                rows = memberships.of(db, chosen, limit=99, offset=0)
                assert memberships.count_of(db, chosen) == len(rows), chosen


def make(db: Connection, owner_id: int, number: int) -> int:
    made: int = accounts.create(db, f"o{number}", kind="Organization")["id"]
    accounts.join(db, made, owner_id, "admin")
    return made


def test_memberships_are_counted(world: World) -> None:
    chance, store, ada = random.Random(2), world.store, world.user["id"]
    people = [store.write_sync(accounts.create, name)["id"] for name in ("eve", "kim")]
    organizations = [store.write_sync(make, ada, number) for number in range(3)]
    for number in range(3, 40):
        organization_id, person = chance.choice(organizations), chance.choice(people)
        match chance.randrange(10):
            case 0 | 1 | 2:
                role = chance.choice(("admin", "member"))
                store.write_sync(accounts.join, organization_id, person, "admin")
                store.write_sync(accounts.join, organization_id, person, role)
            case 3 | 4 | 5 | 6:
                public = chance.random() < 0.5
                store.write_sync(memberships.publicize, organization_id, person, public)
            case 7 | 8:
                store.write_sync(memberships.leave, organization_id, person)
            case _:
                gone = store.read_sync(accounts.get, organization_id)
                store.write_sync(account_removal.remove, gone)
                organizations.remove(organization_id)
                organizations.append(store.write_sync(make, ada, number))
        for account_id in (ada, *people):
            store.read_sync(counted, account_id, organizations)


def test_memberships_are_counted_while_an_organization_goes_in_parts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_removal, "MOST", 2)
    store = world.store
    people = [store.write_sync(accounts.create, f"p{number}")["id"] for number in range(5)]
    tower, other = (store.write_sync(make, people[0], number) for number in range(2))
    for organization_id in (tower, other):
        for person in people[1:]:
            store.write_sync(accounts.join, organization_id, person, "member")
    row = store.read_sync(accounts.get, tower)
    while not store.write_sync(account_removal.remove_part, row):
        for person in people:
            store.read_sync(counted, person, [tower, other])
    for person in people:
        assert store.read_sync(memberships.count_of, OwnSelection(person)) == 1


def test_the_numbers_go_with_the_account(world: World) -> None:
    made = world.store.write_sync(make, world.user["id"], 0)
    eve = world.store.write_sync(accounts.create, "eve")
    world.store.write_sync(accounts.join, made, eve["id"], "member")
    world.store.write_sync(account_removal.remove, eve)
    count = "SELECT count(*) FROM membership_tally WHERE account_id = :id"
    assert world.store.read_sync(lambda db: db.value(count, id=eve["id"])) == 0
