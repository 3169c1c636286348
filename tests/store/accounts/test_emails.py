"""Email addresses of accounts: their owner, the primary address, and removal."""

import pytest

from store import Row, Store
from store.accounts import accounts, emails
from store.clock import MovableClock
from store.errors import Invalid, Missing


@pytest.fixture
def ada(store: Store) -> Row:
    return store.write_sync(accounts.create, "ada")


def add(store: Store, account: Row, *addresses: str, verified: bool = False) -> list[Row]:
    return store.write_sync(emails.add, account["id"], addresses, verified=verified)


def known(store: Store, account: Row) -> list[str]:
    rows = store.read_sync(emails.page, account["id"], limit=100, offset=0)
    assert store.read_sync(emails.count, account["id"]) == len(rows)
    return [row["email"] for row in rows]


def test_the_first_address_is_primary_and_unverified(
    store: Store, ada: Row, clock: MovableClock
) -> None:
    first, second = add(store, ada, "ada@tower.example", "a@tower.example")
    assert first == {
        "id": first["id"],
        "account_id": ada["id"],
        "email": "ada@tower.example",
        "is_primary": 1,
        "verified": 0,
        "visibility": "private",
        "created_at": clock.now(),
    }
    assert second == second | {"is_primary": 0, "verified": 0, "visibility": None}
    (third,) = add(store, ada, "b@tower.example", verified=True)
    assert (third["is_primary"], third["verified"]) == (0, 1)
    assert known(store, ada) == ["ada@tower.example", "a@tower.example", "b@tower.example"]


def test_an_address_is_kept_as_it_is_written_but_for_its_domain(store: Store, ada: Row) -> None:
    (row,) = add(store, ada, "Ada.L@Tower.EXAMPLE")
    assert row["email"] == "Ada.L@tower.example"


def test_one_address_in_two_spellings_is_one(store: Store, ada: Row) -> None:
    (row,) = add(store, ada, "Ada@tower.example", "ada@TOWER.example")
    assert row["email"] == "ada@tower.example"


@pytest.mark.parametrize(
    "address", ["ada", "@", "a@b@c.example", "a b@c.example", "a@c", "a\0@c.d"]
)
def test_one_invalid_address_rejects_all(store: Store, ada: Row, address: str) -> None:
    with pytest.raises(Invalid) as caught:
        add(store, ada, "good@tower.example", address)
    assert (caught.value.field, caught.value.code) == ("emails", "invalid")
    assert known(store, ada) == []


def test_an_address_belongs_to_one_account_in_any_case(store: Store, ada: Row) -> None:
    bob = store.write_sync(accounts.create, "bob")
    add(store, ada, "ada@tower.example")
    for account in (bob, ada):
        before = known(store, account)
        with pytest.raises(Invalid) as caught:
            add(store, account, "new@tower.example", "ADA@tower.example")
        assert caught.value.code == "already_exists"
        assert known(store, account) == before


def test_there_is_a_bound(store: Store, ada: Row) -> None:
    add(store, ada, *(f"a{number}@tower.example" for number in range(emails.MOST)))
    with pytest.raises(Invalid, match="at most 100") as caught:
        add(store, ada, "more@tower.example")
    assert caught.value.code == "unprocessable"


def test_a_verified_primary_cannot_be_removed(store: Store, ada: Row) -> None:
    add(store, ada, "ada@tower.example", "a@tower.example", verified=True)
    with pytest.raises(Invalid, match="primary") as caught:
        store.write_sync(emails.remove, ada["id"], ["a@tower.example", "ada@tower.example"])
    assert caught.value.code == "custom"
    assert len(known(store, ada)) == 2


def test_the_last_verified_one_cannot_be_removed(store: Store, ada: Row) -> None:
    add(store, ada, "ada@tower.example")
    add(store, ada, "a@tower.example", "b@tower.example", verified=True)
    with pytest.raises(Invalid, match="last verified"):
        store.write_sync(emails.remove, ada["id"], ["a@tower.example", "b@tower.example"])
    twice = ["A@Tower.example", "a@tower.example"]
    assert [row["email"] for row in store.write_sync(emails.remove, ada["id"], twice)] == [twice[1]]
    with pytest.raises(Invalid, match="last verified"):
        store.write_sync(emails.remove, ada["id"], ["b@tower.example"])
    assert known(store, ada) == ["ada@tower.example", "b@tower.example"]


def test_another_s_address_is_not_removed(store: Store, ada: Row) -> None:
    bob = store.write_sync(accounts.create, "bob")
    add(store, bob, "bob@tower.example", "b@tower.example")
    add(store, ada, "ada@tower.example", "a@tower.example")
    for other in ("b@tower.example", "c@tower.example", "nothing", "\N{SNOWMAN}"):
        with pytest.raises(Missing):
            store.write_sync(emails.remove, ada["id"], ["a@tower.example", other])
    assert len(known(store, ada)) == 2
    assert len(known(store, bob)) == 2


def test_a_removed_address_is_free(store: Store, ada: Row) -> None:
    bob = store.write_sync(accounts.create, "bob")
    add(store, ada, "ada@tower.example", "a@tower.example")
    assert store.write_sync(emails.remove, ada["id"], ["a@tower.example"])
    add(store, bob, "a@tower.example")


def test_visibility_is_the_primary_s(store: Store, ada: Row) -> None:
    with pytest.raises(Missing):
        store.write_sync(emails.set_visibility, ada["id"], "public")
    add(store, ada, "ada@tower.example", "a@tower.example")
    shown, changed = store.write_sync(emails.set_visibility, ada["id"], "public")
    assert (shown["email"], shown["visibility"], changed) == ("ada@tower.example", "public", True)
    assert store.write_sync(emails.set_visibility, ada["id"], "public") == (shown, False)
    assert store.read_sync(emails.page, ada["id"], limit=9, offset=0, public=True) == [shown]
    assert store.read_sync(emails.count, ada["id"], public=True) == 1
    store.write_sync(emails.set_visibility, ada["id"], "private")
    assert store.read_sync(emails.page, ada["id"], limit=9, offset=0, public=True) == []


def test_another_address_can_become_primary(store: Store, ada: Row) -> None:
    add(store, ada, "ada@tower.example", "a@tower.example")
    store.write_sync(emails.set_visibility, ada["id"], "public")
    (second,) = store.read_sync(emails.of, ada["id"], ["a@tower.example"])
    store.write_sync(emails.make_primary, second)
    store.write_sync(emails.make_primary, second)
    primary = store.read_sync(emails.primary, ada["id"])
    assert primary == second | {"is_primary": 1, "visibility": "public"}
    assert known(store, ada) == ["a@tower.example", "ada@tower.example"]
    assert store.read_sync(emails.count, ada["id"], public=True) == 1
    assert store.write_sync(emails.remove, ada["id"], ["ada@tower.example"])


def test_a_user_s_email_is_among_the_addresses(store: Store) -> None:
    eve = store.write_sync(accounts.create, "eve", email="eve@tower.example")
    (row,) = store.read_sync(emails.page, eve["id"], limit=9, offset=0)
    assert (row["email"], row["verified"], row["is_primary"]) == ("eve@tower.example", 1, 1)
    store.write_sync(accounts.update, eve["id"], name=None, email="eve@other.example")
    assert known(store, eve) == ["eve@tower.example", "eve@other.example"]
    store.write_sync(accounts.update, eve["id"], name=None, email="eve@other.example")
    with pytest.raises(Invalid, match="in use"):
        store.write_sync(accounts.create, "eva", email="Eve@tower.example")
    group = {"kind": "Organization", "email": "eve@tower.example"}
    assert known(store, store.write_sync(accounts.create, "tower", **group)) == []


def test_including_verifies(store: Store, ada: Row) -> None:
    add(store, ada, "ada@tower.example")
    assert store.write_sync(emails.add_if_missing, ada["id"], "Ada@tower.example")
    assert not store.write_sync(emails.add_if_missing, ada["id"], "ada@tower.example")
    assert store.read_sync(emails.primary, ada["id"]) | {"verified": 1} == store.read_sync(
        emails.primary, ada["id"]
    )
