"""The sections of development environments: locations, machines, policies and environments."""

from typing import Annotated, Any, Literal

from pydantic import Field

from hub.cli.console.options import repository_named, user
from hub.cli.state.base import FullName, StateEntry
from hub.cli.state.changes import Outcome, StateChange, outcome_of
from store import Connection, Row
from store.devenvs import devenv_locations, devenv_machines, devenvs
from store.devenvs.devenv_machines import Machine
from store.devenvs.devenvs import Restriction
from store.errors import Invalid

Name = Annotated[str, Field(min_length=1, max_length=devenvs.MOST_NAME, pattern="^[^\0]*$")]
Amount = Annotated[int, Field(ge=0, lt=2**53)]
SIZES = ("storage_in_bytes", "memory_in_bytes", "cpus")


class DevenvLocationEntry(StateEntry):
    """A location of environments, identified by its name. Clients with an address in `networks` are
    directed to it.
    """

    name: Name
    networks: list[str] = Field(
        default_factory=list, max_length=devenv_locations.MOST_NETWORKS, description="CIDR"
    )
    default: bool = False

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "devenv location", self.name.lower()


class DevenvMachineEntry(StateEntry):
    """A kind of machine, identified by its name. A new one needs its sizes. Without `locations`, it
    is offered at all locations.
    """

    name: Name
    display_name: Name | None = None
    operating_system: Name = "linux"
    storage_in_bytes: Amount | None = None
    memory_in_bytes: Amount | None = None
    cpus: Amount | None = None
    locations: list[str] | None = Field(None, max_length=100)
    offered: bool = True

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "devenv machine", self.name


class DevenvPrebuildEntry(StateEntry):
    """A prebuild for a machine at `ref`, a branch or a commit."""

    ref: Name
    machine: Name
    availability: Literal["none", "in_progress", "ready"] = "ready"


class DevenvRestrictionEntry(StateEntry):
    """Requirements on machines at `ref`, a branch or a commit. Without `ref`, they apply to every
    ref.
    """

    ref: Name | None = None
    cpus: Amount = 0
    memory_in_bytes: Amount = 0
    storage_in_bytes: Amount = 0
    machines: list[Name] | None = Field(None, max_length=100)


class DevenvPolicyEntry(StateEntry):
    """A repository's prebuilds and its restrictions on machines, identified by the repository."""

    repository: FullName
    prebuilds: list[DevenvPrebuildEntry] = Field(default_factory=list, max_length=1000)
    restrictions: list[DevenvRestrictionEntry] = Field(default_factory=list, max_length=1000)

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "devenv policy", self.repository.lower()


class DevenvEntry(StateEntry):
    """A development environment, identified by its name. `ref` is a branch or a commit."""

    name: Annotated[Name, Field(pattern="^[^/]*$")]
    owner: str
    repository: FullName
    ref: Name
    machine: Name
    location: str

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "devenv", self.name


def devenv_location(db: Connection, wanted: DevenvLocationEntry) -> StateChange:
    """Create or update a location."""
    known = devenv_locations.get(db, wanted.name)
    changed = devenv_locations.put(db, wanted.name, **wanted.given("networks", "default"))
    after = devenv_locations.get(db, wanted.name)
    name = wanted.name if after is None else after.name
    return StateChange("devenv location", name, _outcome(known, changed))


def devenv_machine(db: Connection, wanted: DevenvMachineEntry) -> StateChange:
    """Create or update a kind of machine. Raises Invalid if it is new and has no sizes."""
    known = devenv_machines.get(db, wanted.name)
    fields: dict[str, Any] = {"display_name": wanted.name, "operating_system": "linux"}
    if known is not None:
        fields = {name: getattr(known, name) for name in Machine.__dataclass_fields__}
    fields |= wanted.given(*DevenvMachineEntry.model_fields)
    absent = [name for name in SIZES if fields.get(name) is None]
    if absent:
        raise Invalid(f"the machine {wanted.name!r} is new and needs {', '.join(absent)}")
    if fields.get("locations") is not None:
        fields["locations"] = tuple(fields["locations"])
    changed = devenv_machines.put(db, Machine(**fields))
    return StateChange("devenv machine", wanted.name, _outcome(known, changed))


def devenv_policy(db: Connection, wanted: DevenvPolicyEntry) -> StateChange:
    """Add prebuilds and restrictions to a repository, or update them. Others stay."""
    repo = repository_named(db, wanted.repository)
    before = devenvs.policy(db, repo["id"])
    for one in wanted.prebuilds:
        devenvs.prebuild(db, repo["id"], one.ref, one.machine, one.availability)
    for each in wanted.restrictions:
        names = None if each.machines is None else tuple(each.machines)
        least = (each.cpus, each.memory_in_bytes, each.storage_in_bytes)
        ref = each.ref or devenvs.EVERY_REF
        devenvs.restrict(db, repo["id"], ref, Restriction(*least, names))
    after = devenvs.policy(db, repo["id"])
    outcome = outcome_of(before, after) if before else "created"
    return StateChange("devenv policy", repo["full_name"], outcome)


def devenv(db: Connection, wanted: DevenvEntry) -> StateChange:
    """Create or update an environment."""
    values: Row = {
        "account_id": user(db, wanted.owner)["id"],
        "repo_id": repository_named(db, wanted.repository)["id"],
        "ref": wanted.ref,
        "machine": wanted.machine,
        "location": devenv_locations.named(db, wanted.location),
    }
    known = devenvs.by_name(db, wanted.name)
    changed = devenvs.put(db, wanted.name, values)
    return StateChange("devenv", wanted.name, _outcome(known, changed))


def _outcome(known: object, changed: bool) -> Outcome:
    if known is None:
        return "created"
    return "updated" if changed else "unchanged"
