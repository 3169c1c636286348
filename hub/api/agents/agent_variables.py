"""Organization agent variables (group 16)."""

from dataclasses import dataclass
from typing import Annotated, NotRequired

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.agents import agent_serializers
from hub.api.agents.agent_serializers import AgentVariable, AgentVariableEvent, Visibility
from hub.auth.credentials import Caller
from hub.auth.organization_access import OrCollaborator
from hub.auth.viewing import viewer_of
from hub.http.errors import Forbidden
from hub.http.response import TypedReply
from hub.rest import organization_serializers, repository_serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.operation import OperationOptions
from hub.rest.paging import NumberedPaging
from hub.rest.repository_serializers import MinimalRepository
from hub.rest.serializers import EmptyObject
from hub.rest.validation import Id, Text
from store import Connection, Row
from store.accounts import organizations
from store.accounts.viewers import RepositoryViewer, visible_among
from store.agents import agent_repositories, agent_variables
from store.agents.agent_variables import MOST, MOST_BYTES
from store.errors import Missing
from store.repositories import repositories

ops = OperationGroup(
    "agents",
    org=organizations.by_login,
    name=agent_variables.get,
    repository_id=agent_repositories.get,
)

PERMISSION = "agent_variables"
NO_COLLABORATOR = "Must be a collaborator in a repository of the organization."
NO_PUSH = "Must have push access to a repository of the organization."


@dataclass(frozen=True, slots=True, kw_only=True)
class AsCollaborator(OrCollaborator):
    """Owners, and collaborators in one of the organization's repositories that their token can see.

    Collaborators need not be members. To change something, they need push access there.
    """

    roles: tuple[str, ...]
    refusal: str

    @property
    def requirement(self) -> str:
        return (
            "Role in the organization: owner, or in one of its repositories: "
            f"{', '.join(self.roles)}."
        )

    def see(self, db: Connection, caller: Caller | None, row: Row) -> None:
        super(AsCollaborator, self).see(db, caller, row)
        assert caller is not None, "this access requires a token"
        if organizations.role_of(db, row, caller.account) == "admin":
            return
        if not self.collaborates(db, caller, row, *self.roles):
            raise Forbidden(self.refusal)


READ = AsCollaborator(
    permissions=((PERMISSION, "read"),),
    scopes=("admin:org",),
    roles=repositories.ROLES,
    refusal=NO_COLLABORATOR,
)
WRITE = AsCollaborator(
    permissions=((PERMISSION, "write"),),
    scopes=("admin:org",),
    roles=("write", "maintain", "admin"),
    refusal=NO_PUSH,
)
CHANGES: OperationOptions = {"emits": ("agent_variable.updated",)}

Name = Annotated[Text, MaxLen(1000)]
Value = Annotated[Text, MaxLen(MOST_BYTES)]
Ids = Annotated[list[Id], MaxLen(MOST)]


class AgentVariables(TypedDict):
    total_count: int
    variables: list[AgentVariable]


class SelectedRepositories(TypedDict):
    total_count: int
    repositories: list[MinimalRepository]


class NewAgentVariable(TypedDict):
    name: Name
    value: Value
    visibility: Visibility
    selected_repository_ids: NotRequired[Ids]


class AgentVariableChange(TypedDict, total=False):
    name: Name
    value: Value
    visibility: Visibility
    selected_repository_ids: Ids


class RepositorySelection(TypedDict):
    selected_repository_ids: Ids


ops.declare_events(agent_variable=AgentVariableEvent)


@ops("GET /orgs/{org}/agents/variables", READ, max_per_page=30)
def list_org_variables(ctx: Context, org: Row, page: NumberedPaging) -> AgentVariables:
    """List organization agent variables

    Sorted by name, with their values.
    """
    page.total = agent_variables.count(ctx.db, org["id"])
    rows = agent_variables.page(ctx.db, org["id"], **page.bounds)
    return {
        "total_count": page.total,
        "variables": [agent_serializers.variable(ctx.urls, org, row) for row in rows],
    }


@ops(
    "POST /orgs/{org}/agents/variables",
    WRITE,
    status=201,
    errors=(409,),
    emits=("agent_variable.created",),
)
def create_org_variable(ctx: Context, org: Row, body: NewAgentVariable) -> EmptyObject | TypedReply:
    """Create an organization agent variable

    Names are stored in upper case and are unique regardless of case. Repositories may be selected
    only if the visibility is `selected`.
    """
    selected = body.get("selected_repository_ids", [])
    agent_repositories.check(ctx.db, org["id"], _viewer(ctx), selected)
    row = agent_variables.create(
        ctx.db, org["id"], body["name"], body["value"], body["visibility"], set(selected)
    )
    _emit(ctx, "agent_variable.created", org, row)
    return TypedReply(201, {}, {"Location": ctx.urls.agent_variable(org["login"], row["name"])})


@ops("GET /orgs/{org}/agents/variables/{name}", READ)
def get_org_variable(ctx: Context, org: Row, name: Row) -> AgentVariable:
    """Get an organization agent variable"""
    ctx.last_modified = name["updated_at"]
    return agent_serializers.variable(ctx.urls, org, name)


@ops("PATCH /orgs/{org}/agents/variables/{name}", WRITE, **CHANGES)
def update_org_variable(ctx: Context, org: Row, name: Row, body: AgentVariableChange) -> None:
    """Update an organization agent variable

    Fields that are left out stay as they are. If the visibility is no longer `selected`, all
    selected repositories are removed.
    """
    fields = {key: str(body[key]) for key in ("name", "value", "visibility") if key in body}
    selected = body.get("selected_repository_ids")
    _change(ctx, org, name, selected, **fields)


@ops("DELETE /orgs/{org}/agents/variables/{name}", WRITE, emits=("agent_variable.deleted",))
def delete_org_variable(ctx: Context, org: Row, name: Row) -> None:
    """Delete an organization agent variable"""
    row = agent_variables.locked(ctx.db, name)
    agent_variables.delete(ctx.db, row)
    _emit(ctx, "agent_variable.deleted", org, row)


@ops("GET /orgs/{org}/agents/variables/{name}/repositories", READ, errors=(409,))
def list_selected_repos_for_org_variable(
    ctx: Context, name: Row, page: NumberedPaging
) -> SelectedRepositories:
    """List selected repositories for an organization agent variable

    Includes private ones that the token can see. 409 if the visibility is not `selected`.
    """
    agent_repositories.check_is_selected(name)
    page.total = agent_repositories.count(ctx.db, name["id"], _viewer(ctx))
    rows = agent_repositories.page(ctx.db, name["id"], _viewer(ctx), **page.bounds)
    shown = repository_serializers.repositories(ctx.urls, ctx.db, rows)
    return {"total_count": page.total, "repositories": shown}


@ops("PUT /orgs/{org}/agents/variables/{name}/repositories", WRITE, **CHANGES)
def set_selected_repos_for_org_variable(
    ctx: Context, org: Row, name: Row, body: RepositorySelection
) -> None:
    """Set selected repositories for an organization agent variable

    Replaces the selection. 409 if the visibility is not `selected`.
    """
    agent_repositories.check_is_selected(agent_variables.locked(ctx.db, name))
    _change(ctx, org, name, body["selected_repository_ids"])


@ops("PUT /orgs/{org}/agents/variables/{name}/repositories/{repository_id}", WRITE, **CHANGES)
def add_selected_repo_to_org_variable(ctx: Context, org: Row, name: Row, repository: Row) -> None:
    """Add selected repository to an organization agent variable

    409 if the visibility is not `selected`.
    """
    _select(ctx, org, name, repository, wanted=True)


@ops("DELETE /orgs/{org}/agents/variables/{name}/repositories/{repository_id}", WRITE, **CHANGES)
def remove_selected_repo_from_org_variable(
    ctx: Context, org: Row, name: Row, repository: Row
) -> None:
    """Remove selected repository from an organization agent variable

    Changes nothing if it was not selected. 409 if the visibility is not `selected`.
    """
    _select(ctx, org, name, repository, wanted=False)


def _viewer(ctx: Context) -> RepositoryViewer:
    return viewer_of(ctx.caller, PERMISSION)


def _change(ctx: Context, org: Row, row: Row, selected: list[int] | None, **fields: str) -> None:
    agent_repositories.check(ctx.db, org["id"], _viewer(ctx), selected or ())
    wanted = None if selected is None else set(selected)
    if agent_variables.update(ctx.db, row, selected=wanted, **fields):
        _emit_updated(ctx, org, row)


def _select(ctx: Context, org: Row, row: Row, repo: Row, *, wanted: bool) -> None:
    if not visible_among(ctx.db, _viewer(ctx), org["id"], [repo["id"]]):
        raise Missing("repository")
    if agent_repositories.select(ctx.db, row, repo["id"], wanted=wanted):
        _emit_updated(ctx, org, row)


def _emit_updated(ctx: Context, org: Row, row: Row) -> None:
    _emit(ctx, "agent_variable.updated", org, agent_variables.locked(ctx.db, row))


def _emit(ctx: Context, event: str, org: Row, row: Row) -> None:
    organization = organization_serializers.organization(ctx.urls, org)
    ctx.emit(
        event,
        None,
        variable=agent_serializers.metadata(ctx.urls, org, row),
        organization=organization,
    )
