"""Two hubs that change one user's tokens at the same time."""

from collections.abc import Callable
from typing import Any

import pytest
from engines import served
from racing import overlap
from store_world import World

from store import Connection, Row, Store
from store.accounts import app_tokens, apps, authorizations, grants, tokens
from store.errors import Missing

pytestmark = served("SQLite has one writer at a time")

Opened = Callable[[], Store]


@pytest.fixture
def app(world: World) -> Row:
    held = {"contents": "write"}
    given = {"url": "https://mill.example/", "kind": "integration", "permissions": held}
    return world.store.write_sync(apps.create, world.user["id"], "Mill", **given)[1]


@pytest.fixture
def token(world: World, app: Row) -> Row:
    value, _ = world.store.write_sync(grants.issue, app, world.user["id"])
    return world.store.read_sync(app_tokens.of_app, app["id"], value)


def revoke(db: Connection, token: Row) -> None:
    grant = grants.of_app(db, token["account_id"], token["app_id"])
    assert grant is not None
    grants.delete(db, grant)


def narrow(db: Connection, token: Row) -> tuple[str, Row]:
    given = {"target_id": token["account_id"], "repositories": None, "permissions": None}
    return app_tokens.scope(db, token, **given)


def left(world: World, token: Row) -> tuple[list[Row], Row | None]:
    """The tokens that are left, and the user's grant to the app."""
    of = (token["account_id"], token["app_id"])
    return world.store.read_sync(tokens.list_all), world.store.read_sync(grants.of_app, *of)


@pytest.mark.parametrize("end", [revoke, authorizations.delete, app_tokens.reset])
def test_a_token_that_ends_meanwhile_is_not_narrowed(
    world: World, opened: Opened, url: str, token: Row, end: Callable[[Connection, Row], Any]
) -> None:
    before = len(left(world, token)[0])
    first = (world.store, lambda db: end(db, token))
    _, found = overlap(url, first, (opened(), lambda db: narrow(db, token)))
    assert isinstance(found, Missing)
    kept, grant = left(world, token)
    assert len(kept) == before - (end is not app_tokens.reset)
    assert (grant is None) == (end is revoke)


def test_a_narrowed_token_ends_with_the_grant(
    world: World, opened: Opened, url: str, token: Row
) -> None:
    first = (world.store, lambda db: narrow(db, token))
    (value, _), found = overlap(url, first, (opened(), lambda db: revoke(db, token)))
    assert found is None
    assert world.store.read_sync(tokens.find, value) is None
    assert left(world, token) == ([], None)


@pytest.mark.parametrize("end", [revoke, authorizations.delete])
def test_a_token_or_a_grant_ends_once(
    world: World, opened: Opened, url: str, token: Row, end: Callable[[Connection, Row], Any]
) -> None:
    calls = [(store, lambda db: end(db, token)) for store in (world.store, opened())]
    _, found = overlap(url, *calls)
    assert isinstance(found, Missing)
