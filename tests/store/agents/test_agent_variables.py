"""Variables of agents: their names, their number, and their collaborators."""

import pytest
from store_world import World
from transactions import transaction

from store import Row
from store.accounts import accounts
from store.accounts.viewers import RepositoryViewer
from store.agents import agent_repositories, agent_variables
from store.agents.variable_names import checked
from store.errors import Conflict, Invalid, Missing
from store.repositories import collaborators, repositories


@pytest.mark.parametrize("name", ["a", "_", "A9_", "x" * 255, "github"])
def test_names_of_agent_variables(name: str) -> None:
    assert checked(name, "Thing") == name.upper()


@pytest.mark.parametrize("name", ["", "9a", "a-b", "a b", "é", "ı", "a\n", "github_", "x" * 256])
def test_bad_names_of_agent_variables(name: str) -> None:
    with pytest.raises(Invalid, match="is no name") as raised:
        checked(name, "Thing", "secret_name")
    assert (raised.value.resource, raised.value.field) == ("Thing", "secret_name")


@pytest.fixture
def org(world: World) -> Row:
    return world.store.write_sync(accounts.create, "acme", kind="Organization")


def make(world: World, org: Row, name: str = "a", **given: object) -> Row:
    given = {"value": "x", "visibility": "all"} | given
    return world.store.write_sync(agent_variables.create, org["id"], name, **given)


def test_a_variable_is_found_by_its_name_in_any_case(world: World, org: Row) -> None:
    row = make(world, org, "Zone")
    assert world.store.read_sync(agent_variables.get, org["id"], "zONE") == row
    assert world.store.read_sync(agent_variables.get, world.user["id"], "zone") is None
    with pytest.raises(Conflict, match="has a variable ZONE"):
        make(world, org, "zone")


def test_changed_while_it_goes(world: World, org: Row) -> None:
    row = make(world, org)
    world.store.write_sync(agent_variables.delete, row)
    with pytest.raises(Missing):
        world.store.write_sync(agent_variables.update, row, value="y")


def test_a_variable_can_be_renamed_to_a_free_name(world: World, org: Row) -> None:
    row, _ = make(world, org), make(world, org, "b")
    with pytest.raises(Conflict):
        world.store.write_sync(agent_variables.update, row, name="B")
    assert not world.store.write_sync(agent_variables.update, row, name="A")
    assert world.store.write_sync(agent_variables.update, row, name="c")


def test_a_removed_repository_is_no_longer_selected(world: World, org: Row) -> None:
    repo = world.store.write_sync(repositories.create, org["id"], "tools")
    row = make(world, org, visibility="selected", selected=[repo["id"]])
    assert world.store.read_sync(agent_repositories.ids, row["id"]) == {repo["id"]}
    world.store.write_sync(
        lambda db: db.execute("DELETE FROM repository WHERE id = :id", id=repo["id"])
    )
    assert world.store.read_sync(agent_repositories.ids, row["id"]) == set()


@pytest.mark.parametrize(
    ("role", "collaborates"), [(None, False), ("read", False), ("triage", True), ("write", True)]
)
def test_those_with_one_of_the_roles_collaborate(
    world: World, org: Row, role: str | None, collaborates: bool
) -> None:
    with transaction(world.store) as db:
        somebody = accounts.create(db, "bob")
        repo = repositories.create(db, org["id"], "tools", private=True)
        if role is not None:
            repositories.grant(db, repo["id"], somebody["id"], role)
    for shown, found in ((True, collaborates), (False, False)):
        viewer = RepositoryViewer(somebody, private=shown)
        given = (org["id"], somebody["id"], viewer, ["triage", "write"])
        assert world.store.read_sync(collaborators.collaborates, *given) is found
