"""State documents: the variables of organizations' agents."""

from typing import Any

import pytest

from store import Row, Store
from store.accounts import organizations
from store.agents import agent_repositories, agent_variables
from store.repositories import repositories

VARIABLE: dict[str, Any] = {
    "organization": "tower",
    "name": "region",
    "value": "north",
    "visibility": "selected",
    "repositories": ["bells"],
}
DOCUMENT: dict[str, Any] = {
    "organizations": [{"login": "tower"}],
    "repositories": [{"name": "tower/bells"}],
    "agent_variables": [VARIABLE],
}


def kept(store: Store) -> tuple[Row, set[int]]:
    tower = store.read_sync(organizations.by_login, "tower")
    row = store.read_sync(agent_variables.get, tower["id"], "region")
    return row, store.read_sync(agent_repositories.ids, row["id"])


def test_agent_variables_are_made_once(load, store: Store):
    assert "3 created, 0 updated, 0 unchanged" in load(DOCUMENT).stdout
    row, selected = kept(store)
    assert (row["name"], row["value"], row["visibility"]) == ("REGION", "north", "selected")
    assert selected == {store.read_sync(repositories.find, "tower", "bells")["id"]}
    assert "0 created, 0 updated, 3 unchanged" in load(DOCUMENT).stdout


def test_unmentioned_fields_are_kept(load, store: Store):
    load(DOCUMENT)
    short = {"organization": "Tower", "name": "Region", "value": "south"}
    assert "0 created, 1 updated" in load({"agent_variables": [short]}).stdout
    row, selected = kept(store)
    assert (row["value"], row["visibility"], len(selected)) == ("south", "selected", 1)
    none = {"agent_variables": [short | {"repositories": []}]}
    assert "0 created, 1 updated" in load(none).stdout
    assert kept(store)[1] == set()
    assert "0 created, 0 updated, 1 unchanged" in load(none).stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"organization": "ada"}, "there is no organization 'ada'"),
        ({"repositories": ["nothing"]}, "there is no repository 'tower/nothing'"),
        ({"name": "1st"}, "'1st' is no name"),
        ({"visibility": "all"}, "only where the visibility is `selected`"),
        ({"visibility": "none"}, "Input should be"),
        ({"value": "x" * 50_000}, "at most 49152"),
        ({"value": "a\0b"}, "pattern"),
    ],
)
def test_a_wrong_agent_variable_is_refused(load, change: dict[str, Any], said: str):
    bad = DOCUMENT | {"agent_variables": [VARIABLE | change]}
    result = load(bad, code=2)
    assert "agent_variables[0]" in result.output
    assert said in result.output


def test_agent_variables_that_are_named_twice(load):
    twice = DOCUMENT | {"agent_variables": [VARIABLE, VARIABLE | {"name": "REGION"}]}
    assert "'tower region' occurs 2 times" in load(twice, code=2).output
