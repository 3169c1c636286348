"""The sections of development environments, and of their secrets, locations and machines."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr

from hub.cli.console.lookups import repository_named, user
from hub.cli.state.base import FullName, RepositoryPart, SectionEntry, StateEntry, characters
from store import Connection, Row
from store.devenvs import devenv_locations, devenv_machines, devenv_secrets, devenvs
from store.devenvs.devenv_locations import Location
from store.devenvs.devenv_machines import Machine
from store.errors import Invalid

Name = Annotated[str, characters(1, devenvs.MOST_NAME)]
Amount = Annotated[int, Field(ge=0, lt=2**53)]
SIZES = ("storage_in_bytes", "memory_in_bytes", "cpus")


class DevenvSecretEntry(RepositoryPart):
    """A devenv secret, identified by its repository and name. The value is plain text, not
    encrypted.
    """

    identified_by = ("repository", "name")

    name: str
    value: SecretStr = Field(max_length=devenv_secrets.MOST_BYTES)

    def name_in(self, db: Connection, parent: Row) -> str:
        return self.identified(repository=parent["full_name"], name=self.name.upper())

    def find(self, db: Connection, parent: Row) -> bytes | None:
        row = devenv_secrets.get(db, parent["id"], self.name)
        return None if row is None else devenv_secrets.value_of(db, row)

    def write(self, db: Connection, parent: Row, before: bytes | None) -> None:
        value = self.value.get_secret_value().encode()
        if value != before:
            devenv_secrets.put(db, parent["id"], self.name, value)


class DevenvLocationEntry(SectionEntry):
    """A location of environments, identified by its name. Clients with an address in `networks` are
    directed to it. `networks` replace the present ones.
    """

    identified_by = ("name",)

    name: Name
    networks: list[str] = Field(
        default_factory=list, max_length=devenv_locations.MOST_NETWORKS, description="CIDR"
    )
    default: bool = False

    def name_in(self, db: Connection, parent: Row) -> str:
        return devenv_locations.named(db, self.name)

    def find(self, db: Connection, parent: Row) -> Location | None:
        return devenv_locations.get(db, self.name)

    def write(self, db: Connection, parent: Row, before: object) -> None:
        devenv_locations.put(db, self.name, **self.given("networks", "default"))


class DevenvMachineEntry(SectionEntry):
    """A kind of machine, identified by its name. A new one needs its sizes. A new one without
    `locations` is offered at all locations.
    """

    identified_by = case_sensitive = ("name",)

    name: Name
    display_name: Name | None = None
    operating_system: Name = "linux"
    storage_in_bytes: Amount | None = None
    memory_in_bytes: Amount | None = None
    cpus: Amount | None = None
    locations: list[str] | None = Field(None, max_length=100)
    offered: bool = True

    def find(self, db: Connection, parent: Row) -> Machine | None:
        return devenv_machines.get(db, self.name)

    def write(self, db: Connection, parent: Row, before: Machine | None) -> None:
        """Create or update the kind of machine. Raises Invalid if it is new and has no sizes."""
        fields: dict[str, Any] = {"display_name": self.name, "operating_system": "linux"}
        if before is not None:
            fields = {name: getattr(before, name) for name in Machine.__dataclass_fields__}
        fields |= self.given(*DevenvMachineEntry.model_fields)
        absent = [name for name in SIZES if fields.get(name) is None]
        if absent:
            raise Invalid(f"the machine {self.name!r} is new and needs {', '.join(absent)}")
        if fields.get("locations") is not None:
            fields["locations"] = tuple(fields["locations"])
        devenv_machines.put(db, Machine(**fields))


class DevenvPrebuildEntry(StateEntry):
    """A prebuild, identified by its machine and by `ref`, a branch or a commit."""

    ref: Name
    machine: Name
    availability: Literal["none", "in_progress", "ready"] = "ready"

    def put(self, db: Connection, repo_id: int) -> None:
        """Add the prebuild, or update it."""
        known = devenvs.availability_of(db, repo_id, self.ref, self.machine)
        availability = self.given_or("availability", known or self.availability)
        devenvs.prebuild(db, repo_id, self.ref, self.machine, availability)


class DevenvRestrictionEntry(StateEntry):
    """Requirements on machines, identified by `ref`, a branch or a commit. Without `ref`, they
    apply to every ref.
    """

    ref: Name | None = None
    cpus: Amount = 0
    memory_in_bytes: Amount = 0
    storage_in_bytes: Amount = 0
    machines: list[Name] | None = Field(None, max_length=100)

    def put(self, db: Connection, repo_id: int) -> None:
        """Add the requirements, or update them."""
        ref = self.ref or devenvs.EVERY_REF
        given = self.given("cpus", "memory_in_bytes", "storage_in_bytes", "machines")
        if given.get("machines") is not None:
            given["machines"] = tuple(given["machines"])
        known = devenvs.restriction(db, repo_id, ref)
        devenvs.restrict(db, repo_id, ref, replace(known, **given))


class DevenvPolicyEntry(RepositoryPart):
    """A repository's prebuilds and its restrictions on machines, identified by the repository."""

    identified_by = ("repository",)

    prebuilds: list[DevenvPrebuildEntry] = Field(default_factory=list, max_length=1000)
    restrictions: list[DevenvRestrictionEntry] = Field(default_factory=list, max_length=1000)

    def find(self, db: Connection, parent: Row) -> list[Row] | None:
        return devenvs.policy(db, parent["id"]) or None

    def write(self, db: Connection, parent: Row, before: object) -> None:
        """Add prebuilds and restrictions, or update them. Others stay."""
        for one in self.prebuilds:
            one.put(db, parent["id"])
        for each in self.restrictions:
            each.put(db, parent["id"])


class DevenvEntry(SectionEntry):
    """A development environment, identified by its name. `ref` is a branch or a commit."""

    identified_by = case_sensitive = ("name",)

    name: Annotated[Name, Field(pattern="^[^/]*$")]
    owner: str
    repository: FullName
    ref: Name
    machine: Name
    location: str

    def find(self, db: Connection, parent: Row) -> Row | None:
        return devenvs.by_name(db, self.name)

    def write(self, db: Connection, parent: Row, before: object) -> None:
        values: Row = {
            "account_id": user(db, self.owner)["id"],
            "repo_id": repository_named(db, self.repository)["id"],
            "ref": self.ref,
            "machine": self.machine,
            "location": devenv_locations.named(db, self.location),
        }
        devenvs.put(db, self.name, values)
