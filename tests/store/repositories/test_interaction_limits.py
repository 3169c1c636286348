"""Interaction limits and invitations in the store, with concurrent writers."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from store_world import World
from transactions import transaction

from store import Store
from store.accounts import accounts
from store.clock import DAY
from store.errors import Conflict, Invalid, Missing
from store.repositories import interaction_limits, invitations, pull_request_caps

Opened = Callable[[], Store]


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """The results or errors of concurrent calls."""

    def tried(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(tried, calls))


def test_the_owner_s_limit_wins_over_a_concurrent_one(world: World, opened: Opened) -> None:
    other = opened()
    for _ in range(10):
        ends = world.now + DAY
        whole, part = at_once(
            lambda ends=ends: world.store.write_sync(
                interaction_limits.limit_account, world.user["id"], "existing_users", ends
            ),
            lambda ends=ends: other.write_sync(
                interaction_limits.limit_repository, world.repo, "collaborators_only", ends
            ),
        )
        assert not isinstance(whole, Exception)
        assert isinstance(part, Conflict | dict)
        kept = world.store.read_sync(lambda db: db.all("SELECT * FROM interaction_limit"))
        assert [row["account_id"] for row in kept] == [world.user["id"]]
        world.store.write_sync(interaction_limits.remove_account_limit, world.user["id"])


def test_concurrent_invitations_of_a_user_make_one(world: World, opened: Opened) -> None:
    guest = world.store.write_sync(accounts.create, "guest")
    other = opened()
    given = (world.repo["id"], guest["id"], world.user["id"], "read")
    made = at_once(
        *(
            lambda store=store: store.write_sync(invitations.invite, *given)
            for store in (world.store, other)
        )
    )
    assert sorted(is_new for _, is_new in made) == [False, True]
    assert world.store.read_sync(invitations.count, invitations.to_person(guest["id"]), 9) == 1


def test_an_invitation_is_accepted_once(world: World, opened: Opened) -> None:
    guest = world.store.write_sync(accounts.create, "guest")
    row, _ = world.store.write_sync(
        invitations.invite, world.repo["id"], guest["id"], None, "write"
    )
    other = opened()
    found = at_once(
        *(
            lambda store=store: store.write_sync(invitations.accept, row)
            for store in (world.store, other)
        )
    )
    assert sum(isinstance(one, Missing) for one in found) == 1
    assert found.count((row, None)) == 1


def test_the_list_is_not_filled_beyond_its_bound(world: World, opened: Opened) -> None:
    with transaction(world.store) as db:
        ids = [accounts.create(db, f"user-{number}")["id"] for number in range(120)]
    other = opened()
    found = at_once(
        lambda: world.store.write_sync(pull_request_caps.add_bypass, world.repo["id"], ids[:60]),
        lambda: other.write_sync(pull_request_caps.add_bypass, world.repo["id"], ids[60:]),
    )
    assert sum(isinstance(one, Invalid) for one in found) == 1
    assert len(world.store.read_sync(pull_request_caps.bypassing, world.repo["id"])) == 60


@pytest.mark.parametrize("back", [61, 86_400])
def test_a_clock_put_back_does_not_keep_the_count(world: World, back: int) -> None:
    with transaction(world.store) as db:
        ids = [accounts.create(db, f"guest-{number}")["id"] for number in range(51)]
    world.clock.advance(2 * 86_400)
    for guest in ids[:50]:
        world.store.write_sync(invitations.invite, world.repo["id"], guest, None, "read")
    # A transaction that began earlier, or a machine with a slow clock, has not put it back.
    for behind in (0, 1):
        world.clock.advance(-behind)
        with pytest.raises(invitations.TooManyInvitations):
            world.store.write_sync(invitations.invite, world.repo["id"], ids[50], None, "read")
    world.clock.advance(-back)
    world.store.write_sync(invitations.invite, world.repo["id"], ids[50], None, "read")
