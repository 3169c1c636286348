"""Stored sessions of the dashboard, and stored links to one hook."""

from typing import Any

import pytest
from required import required
from store_world import World

from store.accounts import sessions, tokens
from store.accounts.sessions import SignInOrigin
from store.clock import DAY, HOUR
from store.errors import Invalid
from store.hooks import hook_links


def test_a_session_ends_by_itself(world: World) -> None:
    value, row = world.store.write_sync(tokens.create, world.user["id"])
    cookie = world.store.write_sync(sessions.begin, token_id=row["id"])
    found = required(world.store.read_sync(sessions.find, cookie, HOUR))
    assert found["token"]["login"] == world.user["login"]
    assert value not in str(world.store.read_sync(lambda db: db.all("SELECT * FROM ui_session")))
    world.clock.advance(seconds=3599)
    world.store.write_sync(sessions.touch, cookie)
    world.clock.advance(seconds=3599)
    assert world.store.read_sync(sessions.find, cookie, HOUR) is not None
    world.clock.advance(seconds=2)
    assert world.store.read_sync(sessions.find, cookie, HOUR) is None


def test_the_sessions_of_a_credential_are_bounded(world: World) -> None:
    _, row = world.store.write_sync(tokens.create, world.user["id"])
    _, link = world.store.write_sync(hook_links.create, world.hook()["id"], "", "amy", DAY)
    credentials: list[dict[str, Any]] = [
        {"token_id": row["id"]},
        {"link_id": link["id"]},
        {"operator": "x"},
    ]
    for credential in credentials:
        first = world.store.write_sync(sessions.begin, **credential)
        second = world.store.write_sync(sessions.begin, **credential)
        world.clock.advance(seconds=1)
        world.store.write_sync(sessions.touch, first)
        for _ in range(sessions.MOST - 1):
            last = world.store.write_sync(sessions.begin, **credential)
        found = [world.store.read_sync(sessions.find, one, HOUR) for one in (first, second, last)]
        assert [one is not None for one in found] == [True, False, True]
    total = world.store.read_sync(lambda db: db.value("SELECT count(*) FROM ui_session"))
    assert total == 3 * sessions.MOST


def test_the_sessions_of_a_user_by_openid_are_bounded(world: World) -> None:
    """Each has a token of its own, so the limit of a token's sessions does not hold for them."""
    own = world.store.read_sync(tokens.list_all)
    by_token = world.store.write_sync(
        sessions.begin, token_id=world.store.write_sync(tokens.create, world.user["id"])[1]["id"]
    )
    cookies = []
    for _ in range(sessions.MOST + 2):
        world.clock.advance(seconds=1)
        origin = SignInOrigin("openid")
        cookies.append(world.store.write_sync(sessions.begin_openid, world.user["id"], origin))
    found = [world.store.read_sync(sessions.find, one, HOUR) is not None for one in cookies]
    assert found == [False, False] + [True] * sessions.MOST
    assert world.store.read_sync(sessions.find, by_token, HOUR) is not None
    # The tokens of the sessions that made room have ended, too.
    assert len(world.store.read_sync(tokens.list_all)) == len(own) + 1 + sessions.MOST


def test_a_session_of_a_fast_clock_ends_when_the_clock_is_put_back(world: World) -> None:
    """Otherwise it would last until then, however long it is not used."""
    world.clock.advance(365 * 86_400)
    cookie = world.store.write_sync(sessions.begin, operator="x")
    # A clock that is corrected by a little ends no session.
    world.clock.advance(-60)
    assert world.store.read_sync(sessions.find, cookie, HOUR) is not None
    world.clock.advance(-365 * 86_400)
    assert world.store.read_sync(sessions.find, cookie, HOUR) is None
    assert world.store.read_sync(sessions.owned, "x", HOUR) == []
    world.store.write_sync(sessions.forget)
    assert world.store.read_sync(lambda db: db.value("SELECT count(*) FROM ui_session")) == 0


def test_a_session_that_was_used_while_the_clock_was_fast_ends_too(world: World) -> None:
    """Otherwise the limit of an idle session would not hold until then."""
    cookie = world.store.write_sync(sessions.begin, operator="x")
    world.clock.advance(3 * 86_400)
    world.store.write_sync(sessions.touch, cookie)
    world.clock.advance(-60)
    assert world.store.read_sync(sessions.find, cookie, HOUR) is not None
    world.clock.advance(-3 * 86_400)
    assert world.store.read_sync(sessions.find, cookie, HOUR) is None
    assert world.store.read_sync(sessions.owned, "x", HOUR) == []


def test_a_session_by_openid_has_a_token_of_its_own(world: World) -> None:
    origin = SignInOrigin("openid", "192.0.2.9", "a browser")
    cookie = world.store.write_sync(sessions.begin_openid, world.user["id"], origin)
    found = required(world.store.read_sync(sessions.find, cookie, HOUR))
    assert (found["method"], found["token"]["scopes"]) == ("openid", {*tokens.WHOLE})
    (shown,) = world.store.read_sync(sessions.owned, world.user["id"], HOUR)
    assert (shown["address"], shown["browser"]) == ("192.0.2.9", "a browser")
    world.store.write_sync(tokens.revoke, found["token_id"])
    assert world.store.read_sync(sessions.find, cookie, HOUR) is None


def test_the_token_of_a_session_of_a_fast_clock_is_deleted_with_it(world: World) -> None:
    before = world.store.read_sync(tokens.list_all)
    world.clock.advance(365 * 86_400)
    world.store.write_sync(sessions.begin_openid, world.user["id"], SignInOrigin("openid"))
    world.clock.advance(-365 * 86_400)
    world.store.write_sync(sessions.forget)
    assert world.store.read_sync(tokens.list_all) == before


def test_an_unknown_session_is_not_found(world: World) -> None:
    for cookie in ("", "x", "\0", "é" * 1000):
        assert world.store.read_sync(sessions.find, cookie, HOUR) is None
        assert not world.store.write_sync(sessions.end, cookie)


def test_ended_sessions_and_links_are_deleted(world: World) -> None:
    hook = world.hook()
    value, link = world.store.write_sync(hook_links.create, hook["id"], "them", "octo", DAY)
    cookie = world.store.write_sync(sessions.begin, link_id=link["id"], until=link["expires_at"])
    world.store.write_sync(sessions.begin, operator="x")
    found = required(world.store.read_sync(sessions.find, cookie, 30 * DAY))
    assert found["hook_id"] == hook["id"]
    world.clock.advance(seconds=DAY // 1_000_000)
    assert world.store.read_sync(hook_links.get_by_value, value) is None
    assert world.store.read_sync(hook_links.list_active, hook["id"]) == []
    world.store.write_sync(hook_links.forget)
    world.store.write_sync(sessions.forget)
    counts = "SELECT (SELECT count(*) FROM ui_session), (SELECT count(*) FROM hook_link)"
    assert list(world.store.read_sync(lambda db: db.tuples(counts))) == [(1, 0)]
    world.clock.advance(seconds=7 * DAY // 1_000_000)
    world.store.write_sync(sessions.forget)
    assert list(world.store.read_sync(lambda db: db.tuples(counts))) == [(0, 0)]


def test_a_link_of_a_fast_clock_ends_when_the_clock_is_put_back(world: World) -> None:
    hook = world.hook()
    world.clock.advance(365 * 86_400)
    value, _ = world.store.write_sync(hook_links.create, hook["id"], "", "octo", 30 * DAY)
    # A clock that is corrected by a little ends no link.
    world.clock.advance(-60)
    assert world.store.read_sync(hook_links.get_by_value, value) is not None
    world.clock.advance(-365 * 86_400)
    assert world.store.read_sync(hook_links.get_by_value, value) is None
    assert world.store.read_sync(hook_links.list_active, hook["id"]) == []
    world.store.write_sync(hook_links.forget)
    assert world.store.read_sync(lambda db: db.value("SELECT count(*) FROM hook_link")) == 0


def test_bounds_of_links(world: World) -> None:
    hook = world.hook()
    for lasting in (0, -1, 31 * DAY):
        with pytest.raises(Invalid):
            world.store.write_sync(hook_links.create, hook["id"], "", "octo", lasting)
    for _ in range(hook_links.MOST):
        world.store.write_sync(hook_links.create, hook["id"], "n" * 500, "octo", DAY)
    with pytest.raises(Invalid, match="at most"):
        world.store.write_sync(hook_links.create, hook["id"], "", "octo", DAY)
    links = world.store.read_sync(hook_links.list_active, hook["id"])
    assert {len(link["note"]) for link in links} == {100}
    assert not world.store.write_sync(hook_links.revoke, hook["id"] + 1, links[0]["id"])
    assert world.store.write_sync(hook_links.revoke, hook["id"], links[0]["id"])
