"""Stored links between users and the subjects of OpenID Connect providers."""

from collections.abc import Callable

import pytest
from engines import served
from racing import overlap
from store_world import World

from store import Connection, Row, Store
from store.accounts import accounts, sessions, tokens
from store.clock import DAY, HOUR
from store.database.time_range import ALWAYS, TimeRange
from store.errors import Conflict, Invalid
from store.openid import openid_links
from store.registry import account_removal

ISSUER = "https://login.tower.example"


def link(world: World, subject: str, user: Row | None = None, issuer: str = ISSUER) -> int:
    return world.store.write_sync(openid_links.add, (user or world.user)["id"], issuer, subject)


def test_a_subject_is_found_by_its_exact_text(world: World) -> None:
    link(world, "Ada")
    found = world.store.read_sync(openid_links.of_subject, ISSUER, "Ada")
    assert found is not None
    assert (found["login"], found["account_id"]) == (world.user["login"], world.user["id"])
    for issuer, subject in ((ISSUER, "ada"), (ISSUER, "Ada "), (f"{ISSUER}/", "Ada")):
        assert world.store.read_sync(openid_links.of_subject, issuer, subject) is None


def test_a_sign_in_is_recorded(world: World) -> None:
    link(world, "7")
    world.clock.advance(seconds=60)
    found = world.store.read_sync(openid_links.of_subject, ISSUER, "7")
    assert found is not None
    world.store.write_sync(openid_links.use, found)
    after = world.store.read_sync(openid_links.get, found["id"])
    assert after is not None
    assert after["used_at"] - after["created_at"] == 60_000_000


def test_a_link_ends_with_its_user(world: World) -> None:
    bea = world.store.write_sync(accounts.create, "bea")
    link(world, "7", bea)
    world.store.write_sync(account_removal.remove, bea)
    assert world.store.read_sync(openid_links.every) == []


def test_the_end_of_a_link_ends_the_sessions_that_a_provider_opened(world: World) -> None:
    origin = sessions.SignInOrigin("openid")
    by_provider = world.store.write_sync(sessions.begin_openid, world.user["id"], origin)
    _, token = world.store.write_sync(tokens.create, world.user["id"])
    by_token = world.store.write_sync(sessions.begin, token_id=token["id"])
    bea = world.store.write_sync(accounts.create, "bea")
    of_bea = world.store.write_sync(sessions.begin_openid, bea["id"], origin)
    link(world, "7")
    (row,) = world.store.read_sync(openid_links.every)
    assert world.store.write_sync(openid_links.remove, row) == 1
    left = [
        cookie
        for cookie in (by_provider, by_token, of_bea)
        if world.store.read_sync(sessions.find, cookie, HOUR)
    ]
    assert left == [by_token, of_bea]


def test_links_are_listed_by_user(world: World) -> None:
    bea = world.store.write_sync(accounts.create, "Bea")
    for subject, user, issuer in (
        ("1", world.user, ISSUER),
        ("2", bea, ISSUER),
        ("3", bea, "https://a.example"),
    ):
        link(world, subject, user, issuer)
    assert [row["subject"] for row in world.store.read_sync(openid_links.every)] == ["1", "3", "2"]
    own = world.store.read_sync(openid_links.every, bea["id"])
    assert [row["subject"] for row in own] == ["3", "2"]


def test_links_are_found_by_a_part_and_a_period(world: World) -> None:
    link(world, "S-100%")
    world.clock.advance(seconds=DAY // 1_000_000)
    bea = world.store.write_sync(accounts.create, "Bea")
    link(world, "7", bea)
    since = TimeRange(since=world.store.clock.now() - HOUR)
    for text, times, wanted in (
        ("", ALWAYS, ["7", "S-100%"]),
        ("BEA", ALWAYS, ["7"]),
        ("s-100%", ALWAYS, ["S-100%"]),
        ("LOGIN.tower", ALWAYS, ["7", "S-100%"]),
        ("_", ALWAYS, []),
        ("", since, ["7"]),
    ):
        rows = world.store.read_sync(
            lambda db, text=text, times=times: openid_links.page(
                db, limit=10, text=text, times=times
            )
        )
        assert [row["subject"] for row in rows] == wanted, text
        assert world.store.read_sync(openid_links.count, text, times).many == len(wanted)


@served("SQLite has one writer at a time")
@pytest.mark.parametrize("subjects", [("7", "7"), ("7", "8")])
def test_two_hubs_that_link_a_user_at_the_same_time_make_one_link(
    world: World, opened: Callable[[], Store], url: str, subjects: tuple[str, str]
) -> None:
    def sign_in(db: Connection, subject: str) -> bool:
        openid_links.alone(db, ISSUER)
        known = openid_links.of_subject(db, ISSUER, subject)
        if known is None and openid_links.of_user(db, world.user["id"], ISSUER) is None:
            openid_links.add(db, world.user["id"], ISSUER, subject)
            return True
        return False

    first, second = subjects
    made = overlap(
        url,
        (world.store, lambda db: sign_in(db, first)),
        (opened(), lambda db: sign_in(db, second)),
    )
    assert list(made) == [True, False]
    (row,) = world.store.read_sync(openid_links.every)
    assert row["subject"] == first


def test_a_link_that_is_taken_is_not_made(world: World) -> None:
    bea = world.store.write_sync(accounts.create, "bea")
    made = world.store.write_sync(openid_links.link, bea, ISSUER, "7")
    for user, subject in ((world.user, "7"), (bea, "7"), (bea, "8")):
        with pytest.raises(Conflict, match=f"link {made} leads from"):
            world.store.write_sync(openid_links.link, user, ISSUER, subject)
    for subject in ("", "x" * 256, "a\0b"):
        with pytest.raises(Invalid, match="1 to 255"):
            world.store.write_sync(openid_links.link, world.user, ISSUER, subject)
    (row,) = world.store.read_sync(openid_links.every)
    assert (row["login"], row["subject"], row["used_at"]) == ("bea", "7", None)
