"""Accounts, repositories, and roles."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from cheap_passwords import FULL
from engines import served
from racing import overlap
from store_world import World

from store import Connection, Row, Store
from store.accounts import accounts
from store.clock import MovableClock
from store.errors import Conflict, Invalid
from store.repositories import membership_dump, repositories
from store.repositories.repositories import ROLES


def test_an_account_has_the_given_values(store: Store, clock: MovableClock) -> None:
    row = store.write_sync(accounts.create, "Ada", name="Ada L.", email="ada@example.com")
    assert row == row | {
        "login": "Ada",
        "kind": "User",
        "name": "Ada L.",
        "email": "ada@example.com",
        "site_admin": 0,
        "created_at": clock.now(),
        "updated_at": clock.now(),
    }
    assert store.read_sync(accounts.get, row["id"]) == row
    assert store.read_sync(accounts.by_login, "aDA") == row
    assert store.read_sync(accounts.by_login, "bob") is None
    assert store.read_sync(accounts.get, row["id"] + 1) is None


def test_logins_that_differ_in_case_alone_are_refused(store: Store) -> None:
    store.write_sync(accounts.create, "Ada")
    with pytest.raises(Conflict, match="ADA"):
        store.write_sync(accounts.create, "ADA", kind="Organization")
    assert len(store.read_sync(accounts.list_all)) == 1


@pytest.mark.parametrize("login", ["a", "A-b_c.d", "0", "a" * 100, "a--b", "build.bot"])
def test_a_valid_login_is_accepted(store: Store, login: str) -> None:
    assert store.write_sync(accounts.create, login)["login"] == login


@pytest.mark.parametrize(
    "login", ["", "-a", "a-", ".a", "_", "a b", "a/b", "a\n", "é", "a" * 101, "a\x00b", "\u212a"]
)
def test_an_invalid_login_is_rejected(store: Store, login: str) -> None:
    with pytest.raises(Invalid) as caught:
        store.write_sync(accounts.create, login)
    assert caught.value.field == "login"


def test_accounts_are_listed_by_login(store: Store) -> None:
    for login in ("bob", "Cyd", "ada"):
        store.write_sync(accounts.create, login)
    assert [row["login"] for row in store.read_sync(accounts.list_all)] == ["ada", "bob", "Cyd"]


def test_an_account_can_be_updated(store: Store, clock: MovableClock) -> None:
    made = store.write_sync(accounts.create, "ada", name="Ada")
    clock.advance(5)
    store.write_sync(accounts.update, made["id"], name="Ada", email=None)
    assert store.read_sync(accounts.get, made["id"]) == made
    store.write_sync(accounts.update, made["id"], name=None, email="a@b.example")
    changed = store.read_sync(accounts.get, made["id"])
    assert changed == made | {"name": None, "email": "a@b.example", "updated_at": clock.now()}


def test_a_password_is_kept_as_argon2id_and_checked(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "HASHING", FULL)
    ada = store.write_sync(accounts.create, "ada", password="correct horse")
    bob = store.write_sync(accounts.create, "bob")
    stored = store.read_sync(lambda db: db.value("SELECT password_hash FROM account WHERE id = 1"))
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert "correct" not in stored
    assert store.read_sync(accounts.check_password, ada["id"], "correct horse")
    assert not store.read_sync(accounts.check_password, ada["id"], "Correct horse")
    assert not store.read_sync(accounts.check_password, ada["id"], "")
    assert not store.read_sync(accounts.check_password, bob["id"], "")
    assert not store.read_sync(accounts.check_password, 99, "correct horse")


def test_two_equal_passwords_are_kept_differently() -> None:
    assert accounts.hash_password("secret") != accounts.hash_password("secret")


def test_many_threads_can_check_passwords(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(accounts, "HASHING", partial(FULL, memory_cost=32))
    stored = accounts.hash_password("secret")
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(accounts.password_matches, ["secret"] * 100, [stored] * 100))


def test_joining_an_organization_sets_the_role(store: Store) -> None:
    ada = store.write_sync(accounts.create, "ada")["id"]
    org = store.write_sync(accounts.create, "acme", kind="Organization")["id"]
    assert store.read_sync(accounts.organization_role, org, ada) is None
    store.write_sync(accounts.join, org, ada, "member")
    assert store.read_sync(accounts.organization_role, org, ada) == "member"
    store.write_sync(accounts.join, org, ada, "admin")
    assert store.read_sync(accounts.organization_role, org, ada) == "admin"
    assert store.read_sync(membership_dump.members, org) == {"ada": "admin"}
    with pytest.raises(Invalid) as caught:
        store.write_sync(accounts.join, org, ada, "owner")
    assert caught.value.field == "role"


def test_a_repository_has_the_given_values(store: Store, clock: MovableClock) -> None:
    ada = store.write_sync(accounts.create, "Ada")
    row = store.write_sync(
        repositories.create,
        ada["id"],
        "Engine",
        private=True,
        description="of differences",
        default_branch="trunk",
    )
    assert row == row | {
        "owner_id": ada["id"],
        "owner": "Ada",
        "owner_kind": "User",
        "name": "Engine",
        "full_name": "Ada/Engine",
        "private": 1,
        "description": "of differences",
        "default_branch": "trunk",
        "created_at": clock.now(),
        "updated_at": clock.now(),
        "pushed_at": None,
    }
    assert store.read_sync(repositories.get, row["id"]) == row
    assert store.read_sync(repositories.find, "ADA", "eNGINE") == row
    assert store.read_sync(repositories.find, "ada", "other") is None
    assert store.read_sync(repositories.find, "bob", "engine") is None


def test_a_repositorys_name_is_taken_within_its_owner(store: Store) -> None:
    ada, bob = (store.write_sync(accounts.create, login)["id"] for login in ("ada", "bob"))
    store.write_sync(repositories.create, ada, "engine")
    store.write_sync(repositories.create, bob, "engine")
    with pytest.raises(Conflict):
        store.write_sync(repositories.create, ada, "ENGINE")
    assert [row["full_name"] for row in store.read_sync(repositories.list_all)] == [
        "ada/engine",
        "bob/engine",
    ]


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "é", "a" * 101, "a\n"])
def test_a_wrong_repository_name_is_refused(store: Store, name: str) -> None:
    ada = store.write_sync(accounts.create, "ada")
    with pytest.raises(Invalid) as caught:
        store.write_sync(repositories.create, ada["id"], name)
    assert caught.value.field == "name"


@pytest.mark.parametrize("name", ["a", ".github", "...", "a.b-c_d", "a" * 100])
def test_a_valid_repository_name_is_accepted(store: Store, name: str) -> None:
    ada = store.write_sync(accounts.create, "ada")
    assert store.write_sync(repositories.create, ada["id"], name)["name"] == name


def test_a_repository_can_be_updated(store: Store, clock: MovableClock) -> None:
    ada = store.write_sync(accounts.create, "ada")
    made = store.write_sync(repositories.create, ada["id"], "engine")
    clock.advance(5)
    store.write_sync(repositories.update, made["id"], private=True, description="new")
    assert store.read_sync(repositories.get, made["id"]) == made | {
        "private": 1,
        "description": "new",
        "updated_at": clock.now(),
    }


def people_of(db: Connection) -> dict[str, Row | None]:
    """Create an account of each kind. Two of them own a public and a private repository each."""
    found: dict[str, Row | None] = {"anonymous": None}
    for login in ("owner", "stranger", "member", "org-admin"):
        found[login] = accounts.create(db, login)
    found["site-admin"] = accounts.create(db, "site-admin", site_admin=True)
    org = accounts.create(db, "org", kind="Organization")
    found["org"] = org
    accounts.join(db, org["id"], found["member"]["id"], "member")
    accounts.join(db, org["id"], found["org-admin"]["id"], "admin")
    for owner in ("owner", "org"):
        for private in (False, True):
            name = "private" if private else "public"
            repositories.create(db, found[owner]["id"], name, private=private)
    return found


EXPECTED = {
    # Each account's roles in the user's public and private repository, and in the organization's.
    "anonymous": ("read", None, "read", None),
    "stranger": ("read", None, "read", None),
    "owner": ("admin", "admin", "read", None),
    "member": ("read", None, "read", "read"),
    "org-admin": ("read", None, "admin", "admin"),
    "org": ("read", None, "admin", "admin"),
    "site-admin": ("admin", "admin", "admin", "admin"),
}


def test_each_account_has_its_role(store: Store) -> None:
    found = store.write_sync(people_of)
    repos = [
        store.read_sync(repositories.find, owner, name)
        for owner in ("owner", "org")
        for name in ("public", "private")
    ]
    assert {
        who: tuple(store.read_sync(repositories.role_of, repo, account) for repo in repos)
        for who, account in found.items()
    } == EXPECTED


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("private", [False, True])
def test_a_collaborator_has_the_role_that_was_granted(
    store: Store, role: str, private: bool
) -> None:
    ada, bob = (store.write_sync(accounts.create, login) for login in ("ada", "bob"))
    repo = store.write_sync(repositories.create, ada["id"], "engine", private=private)
    other = store.write_sync(repositories.create, ada["id"], "other", private=private)
    store.write_sync(repositories.grant, repo["id"], bob["id"], role)
    assert store.read_sync(repositories.role_of, repo, bob) == role
    assert store.read_sync(repositories.role_of, other, bob) == (None if private else "read")
    assert store.read_sync(membership_dump.collaborators, repo["id"]) == {"bob": role}


def test_the_highest_of_several_roles_counts(store: Store) -> None:
    found = store.write_sync(people_of)
    repo = store.read_sync(repositories.find, "org", "private")
    store.write_sync(repositories.grant, repo["id"], found["member"]["id"], "write")
    assert store.read_sync(repositories.role_of, repo, found["member"]) == "write"
    store.write_sync(repositories.grant, repo["id"], found["org-admin"]["id"], "triage")
    assert store.read_sync(repositories.role_of, repo, found["org-admin"]) == "admin"
    store.write_sync(repositories.grant, repo["id"], found["member"]["id"], "read")
    assert store.read_sync(repositories.role_of, repo, found["member"]) == "read"


def test_an_unknown_role_is_refused(store: Store) -> None:
    ada, bob = (store.write_sync(accounts.create, login) for login in ("ada", "bob"))
    repo = store.write_sync(repositories.create, ada["id"], "engine")
    with pytest.raises(Invalid) as caught:
        store.write_sync(repositories.grant, repo["id"], bob["id"], "owner")
    assert caught.value.field == "role"
    assert store.read_sync(membership_dump.collaborators, repo["id"]) == {}


def test_roles_are_ordered() -> None:
    for at, role in enumerate(ROLES):
        assert [repositories.at_least(role, wanted) for wanted in ROLES] == [
            at >= place for place in range(len(ROLES))
        ]
    assert not any(repositories.at_least(None, wanted) for wanted in ROLES)


def test_a_site_administrator_is_made_and_unmade(store: Store) -> None:
    store.write_sync(accounts.create, "ada", site_admin=True)
    bob = store.write_sync(accounts.create, "bob")
    for site_admin in (True, False):
        store.write_sync(accounts.set_site_admin, bob["id"], site_admin)
        changed = store.read_sync(accounts.get, bob["id"])
        assert changed is not None
        assert changed["site_admin"] == site_admin


def test_the_last_site_administrator_remains_one(store: Store) -> None:
    ada = store.write_sync(accounts.create, "ada", site_admin=True)
    bob = store.write_sync(accounts.create, "bob")
    store.write_sync(accounts.set_site_admin, bob["id"], False)
    with pytest.raises(Conflict, match="ada is the last site administrator"):
        store.write_sync(accounts.set_site_admin, ada["id"], False)
    changed = store.read_sync(accounts.get, ada["id"])
    assert changed is not None
    assert changed["site_admin"] == 1


@served("SQLite has one writer at a time")
def test_two_site_administrators_cannot_end_each_other(
    world: World, other: Store, url: str
) -> None:
    for login in ("eve", "bob"):
        world.store.write_sync(accounts.create, login, site_admin=True)

    def ending(login: str) -> Callable[[Connection], None]:
        def end(db: Connection) -> None:
            row = accounts.by_login(db, login)
            assert row is not None
            accounts.set_site_admin(db, row["id"], False)

        return end

    _, found = overlap(url, (world.store, ending("eve")), (other, ending("bob")))
    assert isinstance(found, Conflict)
