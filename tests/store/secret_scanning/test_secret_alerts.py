"""Counts of platforms' alerts for each pattern of secrets."""

import random
from typing import Any

import pytest
from racing import overlap
from store_world import World

from store import Connection, Row, Store
from store.accounts import accounts
from store.delivery import sources
from store.errors import Conflict
from store.projection import projection_table
from store.repositories import repositories
from store.secret_scanning import secret_patterns

NPM = "NPM_ACCESS_TOKEN"
OWN = {"token_type": "cp_1", "custom": 1, "display_name": "Tower key"}
FIRST = "2026-01-01T00:00:00Z"


@pytest.fixture
def repo(world: World) -> Row:
    """A repository of an organization with a pattern of its own."""
    org = world.store.write_sync(accounts.create, "acme", kind="Organization")
    world.store.write_sync(secret_patterns.put_reported, org["id"], OWN)
    return world.store.write_sync(repositories.create, org["id"], "tools")


def report(
    world: World,
    repo: Row,
    action: str = "created",
    *,
    source_id: int = sources.OPERATOR,
    **alert: Any,
) -> None:
    given = {"number": 1, "secret_type": "npm_access_token", "updated_at": FIRST} | alert
    payload = {"action": action, "alert": given, "repository": {"full_name": repo["full_name"]}}
    event = {
        "id": 1,
        "name": "secret_scanning_alert",
        "action": action,
        "repo_id": repo["id"],
        "source_id": source_id,
        "received_at": world.now,
    }
    world.store.write_sync(projection_table.project, event, payload)


def counts(world: World, repo: Row, token_type: str = NPM) -> tuple[int, ...]:
    rows = world.store.read_sync(secret_patterns.list_all, repo["owner_id"])
    (row,) = [one for one in rows if one["token_type"] == token_type]
    return tuple(row[name] for name in secret_patterns.COUNTS)


def test_an_alert_is_counted_once(world: World, repo: Row) -> None:
    for _ in range(2):
        report(world, repo)
    assert counts(world, repo) == (1, 0, 0, 0)
    report(world, repo, number=2, push_protection_bypassed=True)
    assert counts(world, repo) == (2, 0, 1, 1)


def test_later_payloads_update_the_counts_of_an_alert(world: World, repo: Row) -> None:
    report(world, repo)
    later = "2026-01-02T00:00:00Z"
    report(world, repo, "resolved", resolution="false_positive", updated_at=later)
    assert counts(world, repo) == (1, 1, 0, 0)
    # A late payload is ignored, and missing fields stay.
    report(world, repo, "resolved", resolution="revoked")
    assert counts(world, repo) == (1, 1, 0, 0)
    report(world, repo, push_protection_bypassed=True, updated_at="2026-01-03T00:00:00Z")
    assert counts(world, repo) == (1, 1, 1, 1)
    report(world, repo, "reopened", resolution=None, updated_at="2026-01-04T00:00:00Z")
    assert counts(world, repo) == (1, 0, 1, 1)


@pytest.mark.parametrize("named", ["cp_1", "tower-key"])
def test_an_organizations_own_pattern(world: World, repo: Row, named: str) -> None:
    before = world.store.read_sync(secret_patterns.list_all, repo["owner_id"])[-1]["version"]
    report(world, repo, secret_type=named)
    assert counts(world, repo, "cp_1") == (1, 0, 0, 0)
    # An alert does not change the pattern.
    assert (
        world.store.read_sync(secret_patterns.list_all, repo["owner_id"])[-1]["version"] == before
    )


def test_an_unknown_pattern_is_added(world: World, repo: Row) -> None:
    name = {"secret_type": "bell_key", "secret_type_display_name": "Bell Key"}
    for number in (1, 2):
        report(world, repo, number=number, **name)
    rows = world.store.read_sync(secret_patterns.list_all, repo["owner_id"])
    (row,) = [one for one in rows if one["token_type"] == "BELL_KEY"]
    assert (row["slug"], row["display_name"], row["custom"]) == ("bell_key", "Bell Key", 0)
    assert (row["alerts"], row["setting"]) == (2, "not-set")


def test_an_unsigned_alert_makes_no_pattern_known(world: World, repo: Row) -> None:
    before = world.store.read_sync(secret_patterns.list_all, repo["owner_id"])
    report(world, repo, source_id=0, secret_type="bell_key")
    assert world.store.read_sync(secret_patterns.list_all, repo["owner_id"]) == before
    report(world, repo, source_id=0)
    assert counts(world, repo) == (1, 0, 0, 0)


def test_unknown_patterns_are_bounded(
    world: World, repo: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_patterns, "MOST", 2)
    for number in range(4):
        report(world, repo, number=number, secret_type=f"strange_{number}")
    rows = world.store.read_sync(secret_patterns.list_all, repo["owner_id"])
    assert [row["slug"] for row in rows if "strange" in row["slug"]] == ["strange_0"]


def test_a_users_repository_has_no_patterns(world: World) -> None:
    report(world, world.repo)
    assert world.store.read_sync(lambda db: db.value("SELECT count(*) FROM secret_alert")) == 0


def test_nothing_odd_is_counted(world: World, repo: Row) -> None:
    chance = random.Random(7)
    odd = (None, -1, 1.5, "", [], {}, True, "x" * 1000, 2**70, "\0")
    members = ("number", "secret_type", "updated_at", "resolution", "push_protection_bypassed")
    for _ in range(100):
        report(
            world, repo, **{name: chance.choice(odd) for name in members if chance.random() < 0.5}
        )
    alerts, false_positives, blocks, bypasses = counts(world, repo)
    assert alerts <= 1
    assert min(false_positives, blocks, bypasses) >= 0


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_change_of_settings_keeps_an_alert_that_is_counted_meanwhile(
    world: World, other: Store, repo: Row, url: str
) -> None:
    owner_id = repo["owner_id"]
    counted = {"token_type": NPM, "alerts": 5}
    world.store.write_sync(secret_patterns.put_reported, owner_id, counted | {"alerts": 4})

    def count(db: Connection) -> bool:
        return secret_patterns.put_reported(db, owner_id, counted)

    def change(db: Connection) -> tuple[str, bool]:
        return secret_patterns.update(db, owner_id, {NPM: "disabled"}, {})

    overlap(url, (world.store, count), (other, change))
    assert counts(world, repo) == (5, 0, 0, 0)


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_one_of_two_changes_has_the_version_of_a_pattern(
    world: World, other: Store, repo: Row, url: str
) -> None:
    rows = world.store.read_sync(secret_patterns.list_all, repo["owner_id"])
    (known,) = [row["version"] for row in rows if row["custom"]]

    def change(db: Connection) -> tuple[str, bool]:
        given = {OWN["token_type"]: (known, "enabled")}
        return secret_patterns.update(db, repo["owner_id"], {}, given)

    (_, is_new), refused = overlap(url, (world.store, change), (other, change))
    assert is_new
    assert isinstance(refused, Conflict)
