"""The section `agent_variables`: organizations' variables for agents."""

from typing import Literal

from pydantic import Field

from hub.cli.console.options import organization, repository
from hub.cli.state.base import StateEntry
from hub.cli.state.changes import StateChange, outcome_of
from store import Connection, Row
from store.agents import agent_repositories, agent_variables


class AgentVariableEntry(StateEntry):
    """An agent variable, identified by its organization and name. `repositories` are names of the
    organization's repositories.
    """

    organization: str
    name: str
    value: str = Field(max_length=agent_variables.MOST_BYTES, pattern="^[^\0]*$")
    visibility: Literal["all", "private", "selected"] = "all"
    repositories: list[str] = Field(default_factory=list, max_length=agent_variables.MOST)

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "agent variable", f"{self.organization} {self.name}".lower()


def agent_variable(db: Connection, wanted: AgentVariableEntry) -> StateChange:
    """Create or update a variable. Raises Missing for an unknown organization or repository."""
    org = organization(db, wanted.organization)
    selected = {repository(db, (org["login"], name))["id"] for name in wanted.repositories}
    name = f"{org['login']} {wanted.name.upper()}"
    row = agent_variables.get(db, org["id"], wanted.name)
    if row is None:
        agent_variables.create(
            db, org["id"], wanted.name, wanted.value, wanted.visibility, selected
        )
        return StateChange("agent variable", name, "created")
    before = _shown(db, row)
    agent_variables.update(
        db,
        row,
        selected=selected if "repositories" in wanted.model_fields_set else None,
        **wanted.given("value", "visibility"),
    )
    after = agent_variables.get(db, org["id"], wanted.name)
    return StateChange("agent variable", name, outcome_of(before, after and _shown(db, after)))


def _shown(db: Connection, row: Row) -> Row:
    return {**row, "repositories": agent_repositories.ids(db, row["id"])}
