"""Organization agent variables as answers and events show them."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hub.organization_shapes import OrganizationSimple
from hub.shapes import SimpleUser
from hub.urls import Urls
from store import Row
from store.clock import iso

Visibility = Literal["all", "private", "selected"]


class VariableMetadata(TypedDict):
    """A variable as it is told of: without its value."""

    name: str
    created_at: str
    updated_at: str
    visibility: Visibility
    selected_repositories_url: NotRequired[str]


class Variable(VariableMetadata):
    value: str


class AgentVariableEvent(TypedDict):
    action: Literal["created", "updated", "deleted"]
    variable: VariableMetadata
    organization: OrganizationSimple
    sender: SimpleUser | None


def metadata(urls: Urls, org: Row, row: Row) -> VariableMetadata:
    """A variable without its value."""
    shown: VariableMetadata = {
        "name": row["name"],
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
        "visibility": row["visibility"],
    }
    if row["visibility"] == "selected":
        url = urls.agent_variable(org["login"], row["name"])
        shown["selected_repositories_url"] = f"{url}/repositories"
    return shown


def variable(urls: Urls, org: Row, row: Row) -> Variable:
    """A variable."""
    return {**metadata(urls, org, row), "value": row["value"]}
