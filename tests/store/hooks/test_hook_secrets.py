"""A hook's former secret, which stays valid for an overlap after a change."""

from typing import Any

import pytest
from store_world import World

from store import Connection, Row
from store.clock import DAY, SECOND
from store.errors import Invalid
from store.hooks import hook_queries, hook_secrets, hooks


def changed(world: World, hook: Row, **changes: Any) -> Row:
    return world.store.write_sync(hooks.update, hook, **changes)


def former(world: World, hook: Row) -> tuple[str, int] | None:
    return world.store.read_sync(hook_secrets.previous_secret, hook)


def secret(world: World, hook: Row) -> str | None:
    return world.store.read_sync(hooks.secret_of, hook)


def test_the_former_secret_stays_for_the_overlap(world: World) -> None:
    hook = world.hook("push", secret="old")
    assert former(world, hook) is None
    hook = changed(world, hook, secret="new", overlap=DAY)
    until = world.clock.now() + DAY
    assert (secret(world, hook), former(world, hook)) == ("new", ("old", until))
    # Neither other changes nor the same secret again affect the former secret.
    hook = changed(world, hook, active=False)
    hook = changed(world, hook, secret="new")
    hook = changed(world, hook, secret="new", overlap=2 * DAY)
    assert (secret(world, hook), former(world, hook)) == ("new", ("old", until))
    world.clock.advance(DAY / SECOND - 1)
    assert former(world, hook) == ("old", until)
    world.clock.advance(1)
    assert former(world, hook) is None


def test_the_one_before_the_former_one_is_gone(world: World) -> None:
    hook = world.hook("push", secret="first")
    hook = changed(world, hook, secret="second", overlap=DAY)
    hook = changed(world, hook, secret="third", overlap=DAY)
    assert (former(world, hook) or ("",))[0] == "second"


@pytest.mark.parametrize(
    "changes",
    [
        {"secret": "third"},
        {"secret": "third", "overlap": 0},
        {"secret": None, "overlap": DAY},
        {"secret": ""},
        {"overlap": 0},
    ],
)
def test_a_new_secret_without_an_overlap_ends_the_former_one(
    world: World, changes: dict[str, Any]
) -> None:
    hook = world.hook("push", secret="first")
    hook = changed(world, hook, secret="second", overlap=DAY)
    hook = changed(world, hook, **changes)
    assert former(world, hook) is None
    assert hook["previous_secret"] is None
    assert hook["previous_until"] is None


def test_a_first_secret_has_no_former_one(world: World) -> None:
    hook = changed(world, world.hook("push"), secret="new", overlap=DAY)
    assert (secret(world, hook), former(world, hook)) == ("new", None)


@pytest.mark.parametrize("overlap", [-1, 7 * DAY + 1])
def test_bounds_of_the_overlap(world: World, overlap: int) -> None:
    hook = world.hook("push", secret="old")
    with pytest.raises(Invalid, match="7 days at most"):
        changed(world, hook, secret="new", overlap=overlap)
    changed(world, hook, secret="new", overlap=7 * DAY)


def test_a_secret_that_does_not_open_can_be_replaced(world: World) -> None:
    hook = world.hook("push", secret="old")
    world.store.write_sync(lambda db: db.execute("UPDATE hook SET secret = :x", x=b"damaged"))
    hook = changed(world, hook, secret="new", overlap=DAY)
    assert (secret(world, hook), former(world, hook)) == ("new", None)


def test_former_secrets_are_forgotten(world: World) -> None:
    for number in range(5):
        url = f"https://receiver.example/{number}"
        changed(world, world.hook("push", secret="old", url=url), secret="new", overlap=DAY)

    def left(db: Connection) -> int:
        return sum(row["previous_secret"] is not None for row in hook_queries.every(db))

    before = world.clock.now() + DAY
    assert world.store.write_sync(hook_secrets.drop_expired, before - 1, 3) == 0
    assert world.store.write_sync(hook_secrets.drop_expired, before, 3) == 3
    assert world.store.read_sync(left) == 2
    assert world.store.write_sync(hook_secrets.drop_expired, before, 3) == 2
