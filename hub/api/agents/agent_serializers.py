"""Serializers of organization agent variables."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.serializers import SimpleUser, row_serializer
from hub.rest.urls import Urls
from store import Row

Visibility = Literal["all", "private", "selected"]


class AgentVariableMetadata(TypedDict):
    """A variable without its value, as events contain it."""

    name: str
    created_at: str
    updated_at: str
    visibility: Visibility
    selected_repositories_url: NotRequired[str]


class AgentVariable(AgentVariableMetadata):
    value: str


class AgentVariableEvent(TypedDict):
    action: Literal["created", "updated", "deleted"]
    variable: AgentVariableMetadata
    organization: OrganizationSimple
    sender: SimpleUser | None


_metadata = row_serializer(AgentVariableMetadata)


def metadata(urls: Urls, org: Row, row: Row) -> AgentVariableMetadata:
    """Serialize a variable without its value."""
    shown = _metadata(row)
    if row["visibility"] == "selected":
        url = urls.agent_variable(org["login"], row["name"])
        shown["selected_repositories_url"] = f"{url}/repositories"
    return shown


def variable(urls: Urls, org: Row, row: Row) -> AgentVariable:
    """Serialize a variable with its value."""
    return {**metadata(urls, org, row), "value": row["value"]}
