"""State documents: interaction limits, pull request caps, invitations."""

import json
from typing import Any

import pytest
from required import required

from store import Row, Store
from store.accounts import accounts
from store.clock import iso
from store.repositories import interaction_limits, invitations, pull_request_caps, repositories

WORLD: dict[str, Any] = {
    "users": [{"login": "ada"}, {"login": "bob"}, {"login": "eve"}],
    "organizations": [{"login": "tower"}],
    "repositories": [{"name": "tower/bells"}, {"name": "ada/engine"}],
}
AHEAD, BEHIND = "2100-01-01T00:00:00Z", "2001-01-01T00:00:00Z"


@pytest.fixture
def load(run, url: str):
    def call(code: int = 0, **parts: Any):
        return run("load", "-", code=code, stdin=json.dumps(WORLD | parts))

    call()
    return call


def counts(said) -> str:
    return said.stdout.splitlines()[-1]


def repo(store: Store, owner: str = "ada", name: str = "engine") -> Row:
    return required(store.read_sync(repositories.find, owner, name))


def test_limits(load, store: Store):
    limits = [
        {"account": "tower", "limit": "existing_users", "expires_at": AHEAD},
        {"repository": "ada/engine", "limit": "collaborators_only"},
    ]
    assert "2 created, 0 updated" in counts(load(interaction_limits=limits))
    assert "0 created, 0 updated" in counts(load(interaction_limits=limits))
    found = required(store.read_sync(interaction_limits.in_force, repo(store, "tower", "bells")))
    assert (found["allowed"], iso(found["expires_at"])) == ("existing_users", AHEAD)
    found = required(store.read_sync(interaction_limits.in_force, repo(store)))
    assert 0 < found["expires_at"] - found["created_at"] <= 86_400_000_000
    limits[0]["limit"] = "contributors_only"
    assert "0 created, 1 updated" in counts(load(interaction_limits=limits))


@pytest.mark.parametrize("whose", [{"account": "tower"}, {"repository": "tower/bells"}])
def test_a_limit_keeps_its_end_if_only_its_group_changes(load, store: Store, whose):
    load(interaction_limits=[{**whose, "limit": "existing_users", "expires_at": AHEAD}])
    changed = [{**whose, "limit": "collaborators_only"}]
    assert "0 created, 1 updated" in counts(load(interaction_limits=changed))
    found = required(store.read_sync(interaction_limits.in_force, repo(store, "tower", "bells")))
    assert (found["allowed"], iso(found["expires_at"])) == ("collaborators_only", AHEAD)


def test_expired_limits_and_invitations_are_ignored(load, store: Store):
    over = {"limit": "existing_users", "expires_at": BEHIND}
    said = load(
        interaction_limits=[{"account": "ada", **over}],
        invitations=[{"repository": "ada/engine", "user": "bob", "expires_at": BEHIND}],
    )
    assert "0 created, 0 updated" in counts(said)
    assert store.read_sync(interaction_limits.in_force, repo(store)) is None


@pytest.mark.parametrize(
    "limit",
    [
        {"limit": "existing_users"},
        {"limit": "existing_users", "account": "ada", "repository": "ada/engine"},
        {"limit": "nobody", "account": "ada"},
        {"limit": "existing_users", "account": "nobody"},
    ],
)
def test_a_wrong_limit_is_refused(load, limit):
    assert "interaction_limits[0]" in load(2, interaction_limits=[limit]).stderr


def test_a_limit_beside_the_owner_s_is_refused(load):
    limits = [
        {"account": "tower", "limit": "existing_users", "expires_at": AHEAD},
        {"repository": "tower/bells", "limit": "existing_users", "expires_at": AHEAD},
    ]
    assert "interaction_limits[1]" in load(2, interaction_limits=limits).stderr


def test_caps(load, store: Store):
    caps = [
        {"organization": "tower", "max_open_pull_requests": 7},
        {"repository": "ada/engine", "enabled": False, "bypass": ["bob", "EVE"]},
    ]
    assert "2 created, 0 updated" in counts(load(pull_request_caps=caps))
    assert "0 created, 0 updated" in counts(load(pull_request_caps=caps))
    engine, tower = repo(store), store.read_sync(accounts.by_login, "tower")
    assert tower is not None
    cap = store.read_sync(pull_request_caps.stored, "organization", tower["id"])
    assert cap == {"enabled": 1, "most": 7}
    assert store.read_sync(pull_request_caps.get, "repository", engine["id"])["enabled"] == 0
    listed = store.read_sync(pull_request_caps.bypassing, engine["id"])
    assert [row["login"] for row in listed] == ["bob", "eve"]
    caps[1]["bypass"] = ["ada"]
    assert "0 created, 1 updated" in counts(load(pull_request_caps=caps))
    assert len(store.read_sync(pull_request_caps.bypassing, engine["id"])) == 3
    for wrong in ({"enabled": True}, {"organization": "tower", "bypass": ["ada"]}):
        load(2, pull_request_caps=[wrong])
    load(2, pull_request_caps=[{"organization": "tower", "max_open_pull_requests": 1001}])


def test_a_cap_stays_disabled_without_enabled(load, store: Store):
    load(pull_request_caps=[{"repository": "ada/engine", "enabled": False}])
    again = [{"repository": "ada/engine", "max_open_pull_requests": 3}]
    assert "0 created, 1 updated" in counts(load(pull_request_caps=again))
    cap = store.read_sync(pull_request_caps.stored, "repository", repo(store)["id"])
    assert cap == {"enabled": 0, "most": 3}


def test_invitations(load, store: Store):
    asked = {"repository": "ada/engine", "user": "bob", "permissions": "triage", "inviter": "ada"}
    assert "1 created, 0 updated" in counts(load(invitations=[asked]))
    assert "0 created, 0 updated" in counts(load(invitations=[asked]))
    engine, bob = repo(store), store.read_sync(accounts.by_login, "bob")
    assert bob is not None
    (row,) = store.read_sync(invitations.page, invitations.to_person(bob["id"]), limit=9, offset=0)
    assert (row["role"], row["repo_id"]) == ("triage", engine["id"])
    later = {"repository": "ada/engine", "user": "bob", "expires_at": AHEAD}
    assert "0 created, 1 updated" in counts(load(invitations=[later]))
    (row,) = store.read_sync(invitations.page, invitations.to_person(bob["id"]), limit=9, offset=0)
    assert (row["role"], iso(row["expires_at"])) == ("triage", AHEAD)
    # If the user has accepted the invitation, loading it changes nothing.
    store.write_sync(invitations.accept, row)
    assert "0 created, 0 updated" in counts(load(invitations=[asked]))
    load(2, invitations=[{"repository": "ada/engine", "user": "tower"}])


def test_more_than_may_be_sent_in_a_day(load):
    users = [{"login": f"guest-{number}"} for number in range(60)]
    asked = [{"repository": "ada/engine", "user": user["login"]} for user in users]
    assert "120 created" in counts(load(users=users, invitations=asked))
