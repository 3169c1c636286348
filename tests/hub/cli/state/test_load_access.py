"""State documents: visible memberships, protected branches, and the roles of teams."""

import json

import pytest

from store import Store
from store.accounts import accounts, memberships
from store.repositories import branch_protection, repositories, repository_details
from store.repositories.branch_protection import BranchPattern

pytestmark = pytest.mark.usefixtures("url")

DOCUMENT = """
users: [{login: ada}, {login: bob}]
organizations:
  - {login: tower, members: {ada: admin, bob: member}, public_members: [ada]}
repositories:
  - {name: tower/bells, private: true, protected_branches: [main], has_wiki: true}
  - {name: ada/attic}
teams:
  - {organization: tower, name: Ringers, members: [bob], repositories: {tower/bells: push}}
"""


@pytest.fixture
def load(run):
    def call(document: str, code: int = 0):
        return run("load", "-", "--json", code=code, stdin=document)

    return call


def test_the_access_of_a_document_is_applied(load, store: Store):
    load(DOCUMENT)
    again = load(DOCUMENT)
    assert {each["outcome"] for each in json.loads(again.stdout)["changes"]} == {"unchanged"}
    tower, ada, bob = (store.read_sync(accounts.by_login, name) for name in ("tower", "ada", "bob"))
    bells = store.read_sync(repositories.find, "tower", "bells")
    assert store.read_sync(memberships.is_public, tower["id"], ada["id"])
    assert not store.read_sync(memberships.is_public, tower["id"], bob["id"])
    assert store.read_sync(branch_protection.patterns, bells["id"]) == [BranchPattern("main")]
    details = store.read_sync(repository_details.details, [bells["id"]])[bells["id"]]
    assert (details["has_wiki"], details["has_issues"]) == (1, 1)
    assert store.read_sync(repositories.role_of, bells, bob) == "write"


def test_features_and_permissions_change(load, store: Store):
    load(DOCUMENT)
    changed = DOCUMENT.replace("has_wiki: true", "has_wiki: false").replace("push", "pull")
    found = json.loads(load(changed).stdout)["changes"]
    outcomes = {each["name"]: each["outcome"] for each in found}
    assert (outcomes["tower/bells"], outcomes["tower Ringers"]) == ("updated", "updated")
    bells, bob = (
        store.read_sync(repositories.find, "tower", "bells"),
        store.read_sync(accounts.by_login, "bob"),
    )
    assert store.read_sync(repositories.role_of, bells, bob) == "read"


def test_only_members_are_public_members(load, store: Store):
    result = load(DOCUMENT.replace("public_members: [ada]", "public_members: [eve, ada]"), code=2)
    assert "eve" in result.stderr
    document = DOCUMENT.replace("{login: bob}", "{login: bob}, {login: eve}")
    result = load(document.replace("public_members: [ada]", "public_members: [eve]"), code=2)
    assert "'eve' is in public_members, but is no member of tower" in result.stderr
    assert store.read_sync(accounts.by_login, "tower") is None


def test_a_team_has_no_role_outside_its_organization(load):
    result = load(
        DOCUMENT.replace("repositories: {tower/bells: push}", "repositories: {ada/attic: push}"),
        code=2,
    )
    assert "ada/attic does not belong to the organization of the team" in result.stderr
