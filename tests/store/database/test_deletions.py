"""A row that two hubs delete, or that one deletes while the other changes it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from issue_world import Platform, issue
from racing import overlap
from required import required
from store_world import World

from store import Connection, Row, Store
from store.accounts import accounts, apps
from store.agents import agent_variables
from store.apps import installations
from store.devenvs import devenv_secrets
from store.enterprises import enterprise_teams, enterprises
from store.errors import Missing
from store.issues import comment_changes, commit_comments, issue_changes, issue_fields
from store.repositories.markdown import RenderedText

SHA = "6113728f27ae82c7b1a177c8d03f9e96e0adf246"


@dataclass
class Kind:
    """How a row of one kind is made, deleted and changed."""

    make: Callable[[Connection, World], Row]
    delete: Callable[[Connection, Row], None]
    change: Callable[[Connection, Row], Any] | None = None


def variable(db: Connection, world: World) -> Row:
    org = accounts.create(db, "tower", kind="Organization")
    return agent_variables.create(db, org["id"], "REGION", "north", "all", [])


def field(db: Connection, world: World) -> Row:
    org = accounts.create(db, "tower", kind="Organization")
    return issue_fields.create(db, org["id"], "Effort", "number")


def team(db: Connection, world: World) -> Row:
    return enterprise_teams.create(db, enterprises.create(db, "globe")["id"], "Team")


def secret(db: Connection, world: World) -> Row:
    devenv_secrets.put(db, world.repo["id"], "KEY", b"hush")
    return required(devenv_secrets.get(db, world.repo["id"], "KEY"))


def installation(db: Connection, world: World) -> Row:
    given = {"url": "https://mill.example/", "kind": "integration"}
    _, app = apps.create(db, world.user["id"], "Mill", permissions={"contents": "read"}, **given)
    return installations.create(db, app, world.user)


def commit_comment(db: Connection, world: World) -> Row:
    text = RenderedText("Hm")
    return commit_comments.create(db, world.repo["id"], world.user["id"], SHA, text)


KINDS = {
    "variable": Kind(
        variable, agent_variables.delete, lambda db, row: agent_variables.update(db, row, value="x")
    ),
    "field": Kind(
        field, issue_fields.delete, lambda db, row: issue_fields.update(db, row, description="x")
    ),
    "team": Kind(
        team, enterprise_teams.delete, lambda db, row: enterprise_teams.update(db, row, name="x")
    ),
    "secret": Kind(secret, devenv_secrets.delete),
    "installation": Kind(installation, installations.remove),
    "commit comment": Kind(
        commit_comment,
        commit_comments.delete,
        lambda db, row: commit_comments.update(db, row, RenderedText("Well")),
    ),
}
CHANGED = {name: kind for name, kind in KINDS.items() if kind.change is not None}
on_postgres = pytest.mark.parametrize("url", ["postgres"], indirect=True)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_row_is_deleted_once(world: World, kind: Kind) -> None:
    row = world.store.write_sync(kind.make, world)
    world.store.write_sync(kind.delete, row)
    with pytest.raises(Missing):
        world.store.write_sync(kind.delete, row)


@on_postgres
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_row_that_two_hubs_delete_is_deleted_once(
    world: World, opened: Callable[[], Store], url: str, kind: Kind
) -> None:
    row = world.store.write_sync(kind.make, world)
    both = [(store, lambda db: kind.delete(db, row)) for store in (world.store, opened())]
    _, found = overlap(url, *both)
    assert isinstance(found, Missing)


@on_postgres
@pytest.mark.parametrize("kind", CHANGED.values(), ids=CHANGED)
def test_a_row_is_not_changed_after_its_deletion(
    world: World, opened: Callable[[], Store], url: str, kind: Kind
) -> None:
    row = world.store.write_sync(kind.make, world)
    change = kind.change
    assert change is not None
    first = (world.store, lambda db: kind.delete(db, row))
    _, found = overlap(url, first, (opened(), lambda db: change(db, row)))
    assert isinstance(found, Missing)


@on_postgres
def test_two_hubs_change_a_team_without_losing_a_change(
    world: World, opened: Callable[[], Store], url: str
) -> None:
    row = world.store.write_sync(team, world)

    def change(**given: str) -> Callable[[Connection], Row]:
        return lambda db: enterprise_teams.update(db, row, **given)

    first = (world.store, change(description="Bells"))
    overlap(url, first, (opened(), change(group_id="ringers")))
    found = required(
        world.store.read_sync(enterprise_teams.find, row["enterprise_id"], str(row["id"]))
    )
    assert (found["description"], found["group_id"]) == ("Bells", "ringers")


@on_postgres
def test_a_deleted_issue_comment_counts_once(
    world: World, opened: Callable[[], Store], url: str
) -> None:
    Platform(world).report("issues", "opened", issue=issue())
    row = Platform(world).issue()

    def comment(db: Connection) -> Row:
        given = (world.user["id"], "Hm")
        return comment_changes.create(db, world.repo, row, *given, association="NONE")

    made, _ = world.store.write_sync(comment), world.store.write_sync(comment)

    def delete(db: Connection) -> None:
        comment_changes.delete(db, issue_changes.lock(db, row), made)

    _, found = overlap(url, (world.store, delete), (opened(), delete))
    assert isinstance(found, Missing)
    assert Platform(world).issue()["comments"] == 1
