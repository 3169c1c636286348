"""Whom a subject signs in as, while an administrator removes its link or its user."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from engines import open_furnished, served
from racing import overlap

from hub.openid.errors import SignInFailed
from hub.openid.subjects import LinkedUser, identify
from hub.openid_settings import OpenIDSettings
from store import Connection, Row, Store
from store.accounts import accounts, sessions
from store.clock import HOUR, MovableClock
from store.openid import openid_links
from store.registry import account_removal

pytestmark = served("SQLite has one writer at a time")
ISSUER = "https://login.tower.example"
SETTINGS = OpenIDSettings(openid_issuer=ISSUER, openid_client_id="tocsin")
CLAIMS = {"iss": ISSUER, "sub": "7", "email": "bea@tower.example", "email_verified": True}


@pytest.fixture
def other(url: str, tmp_path: Path, clock: MovableClock, store: Store) -> Iterator[Store]:
    """One more store on the test's database, as another process has it."""
    made = open_furnished(url, tmp_path, clock)
    yield made
    made.shut()


@pytest.fixture
def ada(store: Store) -> Row:
    """A user to whom the subject of the claims is linked."""
    user = store.write_sync(accounts.create, "ada")
    store.write_sync(openid_links.add, user["id"], ISSUER, CLAIMS["sub"])
    return user


def sign_in(db: Connection) -> LinkedUser:
    return identify(db, SETTINGS, CLAIMS)


def remove_link(db: Connection) -> int:
    (link,) = openid_links.every(db)
    return openid_links.remove(db, link)


def test_nobody_signs_in_by_a_link_that_is_being_removed(
    store: Store, other: Store, url: str, ada: Row
) -> None:
    bea = store.write_sync(accounts.create, "bea", email="bea@tower.example")
    _, found = overlap(url, (store, remove_link), (other, sign_in))
    assert found.account_id == bea["id"]
    assert [row["login"] for row in store.read_sync(openid_links.every)] == ["bea"]


def test_a_removal_ends_the_session_that_has_just_begun(
    store: Store, other: Store, url: str, ada: Row
) -> None:
    def begin(db: Connection) -> str:
        return sessions.begin_openid(db, sign_in(db).account_id, sessions.SignInOrigin("openid"))

    cookie, ended = overlap(url, (store, begin), (other, remove_link))
    assert ended == 1
    assert store.read_sync(sessions.find, cookie, HOUR) is None


@pytest.mark.parametrize("linked", [True, False])
def test_a_user_whose_removal_is_not_yet_committed_lets_nobody_in(
    store: Store, other: Store, url: str, linked: bool
) -> None:
    bea = store.write_sync(accounts.create, "bea", email="bea@tower.example")
    if linked:
        store.write_sync(openid_links.add, bea["id"], ISSUER, CLAIMS["sub"])
    _, found = overlap(url, (store, lambda db: account_removal.remove(db, bea)), (other, sign_in))
    assert isinstance(found, SignInFailed), found
    assert store.read_sync(openid_links.every) == []
