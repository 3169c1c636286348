"""Issue field values from payloads of platforms, and the trust in their senders."""

from typing import Any

import pytest
from issue_world import Platform, issue
from store_world import World
from transactions import transaction

from store import Row
from store.accounts import accounts
from store.issues import issue_field_values, issue_fields
from store.projection import projection_table
from store.repositories import repositories as kept

CHOICE = [
    {"name": "high", "color": "red", "priority": 1},
    {"name": "low", "color": "green", "priority": 2},
]


@pytest.fixture
def platform(world: World) -> Platform:
    """A platform that reports events of `acme/tools`, which has issue 1."""

    with transaction(world.store) as db:
        acme = accounts.create(db, "acme", kind="Organization")
        repo = kept.create(db, acme["id"], "tools")
    found = Platform(World(world.store, world.clock, world.user, repo))
    found.report("issues", "opened", issue=issue())
    return found


def define(platform: Platform, name: str, kind: str, options: Any = None) -> Row:
    owner = platform.world.repo["owner_id"]
    return platform.world.store.write_sync(issue_fields.create, owner, name, kind, options=options)


def values(platform: Platform) -> dict[str, Any]:
    rows = platform.world.store.read_sync(issue_field_values.of_issue, platform.issue()["id"])
    return {row["name"]: [one["name"] for one in row["options"]] or row["value"] for row in rows}


def signed(platform: Platform, action: str, **payload: Any) -> None:
    """Report an event of issues, signed by a source."""
    event = {
        "id": 1,
        "name": "issues",
        "action": action,
        "repo_id": platform.world.repo["id"],
        "source_id": 7,
        "received_at": platform.world.now,
    }
    platform.world.store.write_sync(projection_table.project, event, {"action": action, **payload})


@pytest.mark.parametrize(
    ("kind", "reported", "kept_as"),
    [
        ("text", {"value": "Hm"}, "Hm"),
        ("text", {"value": "a\0b"}, "ab"),
        ("number", {"value": 3.5}, 3.5),
        ("date", {"value": "2026-11-21"}, "2026-11-21"),
        ("single_select", {"value": 9, "single_select_option": {"name": "low"}}, ["low"]),
        (
            "multi_select",
            {"multi_select_options": [{"name": "low"}, {"name": "high"}]},
            ["high", "low"],
        ),
    ],
)
def test_values_of_each_type(platform: Platform, kind: str, reported: Any, kept_as: Any) -> None:
    define(platform, "Field", kind, CHOICE if "select" in kind else None)
    field = {"id": 77, "name": "field", "data_type": kind}
    platform.report(
        "issues", "field_added", issue=issue(), issue_field=field, issue_field_value=reported
    )
    assert values(platform) == {"Field": kept_as}
    platform.report("issues", "field_removed", issue=issue(), issue_field=field)
    assert values(platform) == {}


def test_a_field_that_is_not_known_is_made_where_it_is_signed(platform: Platform) -> None:
    field = {"name": "Size", "data_type": "single_select", "visibility": "all"}
    reported = {
        "issue": issue(),
        "issue_field": {**field, "options": [*CHOICE, {"name": "none"}, {"color": "red"}]},
        "issue_field_value": {"single_select_option": {"name": "low"}},
    }
    # An unsigned event of a repository does not define fields of its organization.
    platform.report("issues", "field_added", **reported)
    owner = platform.world.repo["owner_id"]
    store = platform.world.store
    assert store.read_sync(issue_fields.of_organization, owner) == []
    signed(platform, "field_added", **reported)
    (made,) = store.read_sync(issue_fields.of_organization, owner)
    assert (made["name"], made["visibility"]) == ("Size", "all")
    assert [option["name"] for option in made["options"]] == ["high", "low", "none"]
    assert values(platform) == {"Size": ["low"]}


@pytest.mark.parametrize(
    "reported",
    [
        {},
        {"issue_field": "x"},
        {"issue_field": {"name": "Field"}},
        {
            "issue_field": {"name": "Field", "data_type": "number"},
            "issue_field_value": {"value": 1},
        },
        {"issue_field": {"name": "", "data_type": "text"}, "issue_field_value": {"value": "x"}},
        {"issue_field": {"name": "Field", "data_type": "text"}},
        {"issue_field": {"name": "Field", "data_type": "text"}, "issue_field_value": {"value": 1}},
        {"issue_field": {"name": "Field", "data_type": "text"}, "issue_field_value": []},
        {"issue_field": {"name": "New", "data_type": "single_select", "options": "x"}},
        {"issue_field": {"name": " ", "data_type": "text"}, "issue_field_value": {"value": "x"}},
    ],
)
def test_wrong_payloads_are_ignored(platform: Platform, reported: Any) -> None:
    define(platform, "Field", "text")
    platform.report("issues", "field_added", issue=issue(), **reported)
    signed(platform, "field_added", issue=issue(), **reported)
    assert values(platform) == {}


def test_a_users_repository_has_no_fields(world: World) -> None:
    platform = Platform(world)
    reported = {
        "issue_field": {"name": "Size", "data_type": "text"},
        "issue_field_value": {"value": "x"},
    }
    signed(platform, "field_added", issue=issue(), **reported)
    assert values(platform) == {}


def test_values_of_a_deleted_issue_are_ignored(platform: Platform) -> None:
    define(platform, "Field", "text")
    platform.report("issues", "deleted", issue=issue())
    field = {"name": "Field", "data_type": "text"}
    value = {"value": "x"}
    platform.report(
        "issues", "field_added", issue=issue(), issue_field=field, issue_field_value=value
    )
    assert values(platform) == {}
