"""Machine types of development environments (group 15), for a repository or an existing devenv."""

from collections.abc import Sequence
from typing import Annotated, Literal

from annotated_types import MaxLen
from pydantic import AfterValidator
from typing_extensions import TypedDict

from hub.auth.access import on_user
from hub.auth.repository_access import on_repo
from hub.auth.token_rights import check_repository
from hub.http.client_address import unmapped
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.validation import Text
from store import Row
from store.devenvs import devenv_locations, devenvs
from store.devenvs.devenv_machines import Machine
from store.repositories import repositories

ops = OperationGroup("devenvs", devenv_name=devenvs.get)

FOR_REPOSITORY = on_repo("devenv_metadata", "read", scopes=("devenv",))
OWN = on_user("devenv_metadata", "read", scopes=("devenv",))


def _address(text: str) -> str:
    try:
        return str(unmapped(text))
    except ValueError:
        raise ValueError("not an IP address") from None


class DevenvMachineQuery(TypedDict, total=False):
    """The query. The default location is the one nearest to `client_ip`, or else to the client.

    `ref` is a branch or a commit; the default is the repository's default branch.
    """

    location: Annotated[Text, MaxLen(100)]
    client_ip: Annotated[Text, MaxLen(100), AfterValidator(_address)]
    ref: Annotated[Text, MaxLen(255)]


class DevenvMachine(TypedDict):
    name: str
    display_name: str
    operating_system: str
    storage_in_bytes: int
    memory_in_bytes: int
    cpus: int
    prebuild_availability: Literal["none", "ready", "in_progress"]


class DevenvMachines(TypedDict):
    total_count: int
    machines: list[DevenvMachine]


@ops("GET /repos/{owner}/{repo}/devenvs/machines", FOR_REPOSITORY)
def repo_machines_for_authenticated_user(
    ctx: Context, repo: Row, query: DevenvMachineQuery
) -> DevenvMachines:
    """List available machine types for a repository

    The machine types of a location that the repository allows at the branch or commit `ref`.
    """
    ref = query.get("ref") or repo["default_branch"]
    found = devenvs.offered(ctx.db, repo, ref, _location(ctx, query))
    return _serialize(ctx, repo, ref, found)


@ops("GET /user/devenvs/{devenv_name}/machines", OWN)
def devenv_machines_for_authenticated_user(ctx: Context, devenv_name: Row) -> DevenvMachines:
    """List machine types for a devenv

    The machine types that it can change to at its next start: those at its location that its
    repository allows and that have enough space for its stored data.
    """
    repo = repositories.get(ctx.db, devenv_name["repo_id"])
    assert repo is not None, "an environment goes with its repository"
    check_repository(ctx.db, ctx.required_caller, repo, "devenv", OWN.permissions)
    found = devenvs.reachable(ctx.db, devenv_name, repo)
    return _serialize(ctx, repo, devenv_name["ref"], found)


def _location(ctx: Context, query: DevenvMachineQuery) -> str:
    if "location" in query:
        return devenv_locations.named(ctx.db, query["location"])
    return devenv_locations.nearest(ctx.db, query.get("client_ip") or ctx.address())


def _serialize(ctx: Context, repo: Row, ref: str, machines: Sequence[Machine]) -> DevenvMachines:
    built = devenvs.prebuilt(ctx.db, repo["id"], ref)
    shown = [_machine(one, built.get(one.name, "none")) for one in machines]
    return {"total_count": len(shown), "machines": shown}


def _machine(one: Machine, availability: str) -> DevenvMachine:
    return {
        "name": one.name,
        "display_name": one.display_name,
        "operating_system": one.operating_system,
        "storage_in_bytes": one.storage_in_bytes,
        "memory_in_bytes": one.memory_in_bytes,
        "cpus": one.cpus,
        "prebuild_availability": availability,  # type: ignore[typeddict-item]
    }
