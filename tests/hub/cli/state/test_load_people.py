"""State documents: email addresses, watchers, stars and license files."""

from typing import Any

import pytest

from store import Store
from store.accounts import accounts, emails
from store.clock import iso
from store.enterprises import enterprise_teams, enterprises
from store.repositories import interaction_limits, license_catalog, licenses, repositories, watching

DOCUMENT: dict[str, Any] = {
    "users": [
        {"login": "ada", "emails": ["ada@tower.example", {"email": "a@tower.example"}]},
        {"login": "bob", "email": "bob@tower.example"},
    ],
    "repositories": [
        {
            "name": "ada/engine",
            "stars": 3,
            "watchers": {"ada": "watching", "bob": "ignoring"},
            "license_file": {"name": "LICENSE", "text": license_catalog.get("isc").body},
        }
    ],
}


def addresses(store: Store, login: str) -> list[tuple[str, int, int, str | None]]:
    account = store.read_sync(accounts.by_login, login)
    rows = store.read_sync(emails.page, account["id"], limit=99, offset=0)
    return [(row["email"], row["is_primary"], row["verified"], row["visibility"]) for row in rows]


def test_all_parts_are_loaded_and_loading_again_changes_nothing(load, store: Store):
    assert "3 created, 0 updated, 0 unchanged" in load(DOCUMENT).stdout
    assert addresses(store, "ada") == [
        ("ada@tower.example", 1, 1, "private"),
        ("a@tower.example", 0, 1, None),
    ]
    assert addresses(store, "bob") == [("bob@tower.example", 1, 1, "private")]
    repo = store.read_sync(repositories.find, "ada", "engine")
    assert store.read_sync(watching.counts, [repo["id"]]) == {repo["id"]: (1, 3)}
    assert store.read_sync(watching.settings, repo["id"]) == {"ada": "watching", "bob": "ignoring"}
    file = store.read_sync(licenses.get, repo["id"], "main")
    assert (file["path"], file["license"]) == ("LICENSE", "isc")
    assert "0 created, 0 updated, 3 unchanged" in load(DOCUMENT).stdout


@pytest.mark.parametrize(
    "changes",
    [
        {"watchers": {"ada": "ignoring"}},
        {"stars": 4},
        {"license_file": {"name": "LICENSE.md", "text": "mine"}},
        {"license_file": {"name": "LICENSE", "text": "mine", "branch": "next"}},
    ],
)
def test_changed_watchers_stars_and_licenses_are_updated(load, changes: dict[str, Any]):
    load(DOCUMENT)
    changed = {"repositories": [{"name": "ada/engine", **changes}]}
    assert "0 created, 1 updated, 0 unchanged" in load(changed).stdout
    assert "0 created, 0 updated, 1 unchanged" in load(changed).stdout


def test_a_license_file_is_on_the_default_branch_of_its_entry(load, store: Store):
    (engine,) = DOCUMENT["repositories"]
    for branch in ("trunk", "next"):
        document = DOCUMENT | {"repositories": [engine | {"default_branch": branch}]}
        load(document)
        repo = store.read_sync(repositories.find, "ada", "engine")
        assert store.read_sync(licenses.get, repo["id"], branch) is not None
        assert "0 created, 0 updated, 3 unchanged" in load(document).stdout
    assert store.read_sync(licenses.get, repo["id"], "main") is None


def test_addresses_are_described(load, store: Store):
    load(DOCUMENT)
    wanted = {"email": "a@tower.example", "primary": True, "visibility": "public"}
    doubted = {"email": "Ada@tower.example", "verified": False}
    changed = {"users": [{"login": "ada", "emails": [doubted, wanted]}]}
    assert "0 created, 1 updated, 0 unchanged" in load(changed).stdout
    assert "0 created, 0 updated, 1 unchanged" in load(changed).stdout
    assert addresses(store, "ada") == [
        ("a@tower.example", 1, 1, "public"),
        ("ada@tower.example", 0, 0, None),
    ]


@pytest.mark.parametrize(
    ("user", "reported"),
    [
        ({"emails": ["ada"]}, "no email address"),
        ({"emails": ["bob@tower.example"]}, "already in use"),
        ({"emails": [{"email": "a@tower.example", "visibility": "public"}]}, "not the primary"),
        ({"emails": [{"address": "a@b.example"}]}, "users[0].emails[0].email"),
        ({"email": "bob@tower.example"}, "already in use"),
    ],
)
def test_bad_addresses(load, user: dict[str, Any], reported: str):
    load(DOCUMENT)
    answer = load({"users": [{"login": "ada", **user}]}, code=2)
    assert reported in answer.output
    assert "users[0]" in answer.output


@pytest.mark.parametrize(
    ("repository", "reported"),
    [
        ({"license_file": {"name": "", "text": "x"}}, "is no path of a license file"),
        ({"license_file": {"name": "x", "text": "x" * 262_145}}, "at most 262,144 bytes"),
        ({"stars": -1}, "greater than or equal to 0"),
        ({"watchers": {"eve": "watching"}}, "no account 'eve'"),
        ({"watchers": {"ada": "staring"}}, "'watching' or 'ignoring'"),
    ],
)
def test_wrong_watchers_stars_and_licenses_are_refused(
    load, repository: dict[str, Any], reported: str
):
    load(DOCUMENT)
    answer = load({"repositories": [{"name": "ada/engine", **repository}]}, code=2)
    assert reported in answer.output
    assert "repositories[0]" in answer.output


AGES: dict[str, Any] = {
    "users": [
        {"login": "ada", "created_at": "2020-02-01T10:00:00Z"},
        {"login": "bob", "created_at": "2020-02-02"},
        {"login": "eve"},
    ],
    "organizations": [{"login": "tower", "created_at": "2020-02-03"}],
    "repositories": [{"name": "ada/engine", "created_at": "2020-02-04"}],
    "enterprises": [{"slug": "skyline", "created_at": "2020-02-05"}],
    "enterprise_teams": [{"enterprise": "skyline", "name": "night", "created_at": "2020-02-06"}],
    "interaction_limits": [{"repository": "ada/engine", "limit": "existing_users"}],
}


def ages(store: Store) -> list[str]:
    def read(db):
        globe = enterprises.by_slug(db, "skyline")
        rows = [
            accounts.by_login(db, "ada"),
            accounts.by_login(db, "tower"),
            repositories.find(db, "ada", "engine"),
            globe,
            enterprise_teams.find(db, globe["id"], "ent:night"),
        ]
        return [iso(row["created_at"])[:10] for row in rows]

    return store.read_sync(read)


def test_ages_are_loaded(load, store: Store):
    assert "8 created" in load(AGES).stdout
    assert ages(store) == [f"2020-02-0{day}" for day in (1, 3, 4, 5, 6)]
    assert "0 created, 0 updated" in load(AGES).stdout
    older = {name: [{**each} for each in parts] for name, parts in AGES.items()}
    del older["interaction_limits"]
    for name in older:
        older[name][0]["created_at"] = "2019-01-01"
    assert "0 created, 5 updated" in load(older).stdout
    assert ages(store) == ["2019-01-01"] * 5
    # A document without `created_at` leaves the ages as they are.
    load({"users": [{"login": "ada"}]})
    assert ages(store) == ["2019-01-01"] * 5


def test_the_age_of_an_account_decides_whether_it_is_new(load, store: Store):
    load(AGES)

    def kept_out(db):
        repo = repositories.find(db, "ada", "engine")
        ids = {login: accounts.by_login(db, login)["id"] for login in ("bob", "eve")}
        return [login for login, key in ids.items() if interaction_limits.excludes(db, repo, key)]

    assert store.read_sync(kept_out) == ["eve"]


@pytest.mark.parametrize(
    "created_at", ["2999-01-01", "2999-01-01T00:00:00+02:00", "1969-12-31", "0001-01-01"]
)
@pytest.mark.parametrize(
    "kind", ["users", "organizations", "repositories", "enterprises", "enterprise_teams"]
)
def test_an_age_that_cannot_be_is_refused(load, store: Store, kind: str, created_at: str):
    load({**AGES, kind: [{**AGES[kind][0], "created_at": created_at}]}, code=2)
    assert store.read_sync(accounts.by_login, "bob") is None


def test_a_time_that_is_none_is_refused(load):
    said = load({"users": [{"login": "ada", "created_at": "yesterday"}]}, code=2)
    assert "users[0].created_at" in said.stderr
