"""The section `agent_variables`: organizations' variables for agents."""

from typing import Annotated, Any, Literal

from pydantic import Field

from hub.cli.console.lookups import repository_ids
from hub.cli.state.base import OrganizationPart, characters
from store import Connection, Row
from store.agents import agent_repositories, agent_variables


class AgentVariableEntry(OrganizationPart):
    """An agent variable, identified by its organization and name. `repositories` are names of the
    organization's repositories, and replace the present ones.
    """

    identified_by = ("organization", "name")

    name: str
    value: Annotated[str, characters(0, agent_variables.MOST_BYTES)]
    visibility: Literal["all", "private", "selected"] = "all"
    repositories: list[str] = Field(default_factory=list, max_length=agent_variables.MOST)

    def name_in(self, db: Connection, parent: Row) -> str:
        return self.identified(organization=parent["login"], name=self.name.upper())

    def find(self, db: Connection, parent: Row) -> Row | None:
        row = agent_variables.get(db, parent["id"], self.name)
        return row and {**row, "repositories": agent_repositories.ids(db, row["id"])}

    def write(self, db: Connection, parent: Row, before: Any) -> None:
        selected = set(repository_ids(db, parent, self.repositories))
        if before is None:
            agent_variables.create(
                db, parent["id"], self.name, self.value, self.visibility, selected
            )
            return
        agent_variables.update(
            db,
            before,
            selected=selected if "repositories" in self.model_fields_set else None,
            **self.given("value", "visibility"),
        )
