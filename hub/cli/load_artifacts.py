"""Artifacts in a state document: what attests them, where they run, where they are kept."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hub.cli.changes import Change, Outcome
from hub.cli.options import repository_named
from hub.cli.part import FullName, Part
from store import Connection, Row, artifacts, deployment_records, storage_records
from store.artifacts import Named
from store.deployment_records import Deployment, Place
from store.errors import Invalid
from store.storage_records import Storage

Digest = Annotated[str, AfterValidator(artifacts.normal_digest)]
Name = Annotated[str, Field(min_length=1, max_length=256, pattern="^[^\0]*$")]
Text = Annotated[str, Field(max_length=512, pattern="^[^\0]*$")]
Risk = Literal["critical-resource", "internet-exposed", "lateral-movement", "sensitive-data"]


class Built(Part):
    """An artifact of an organization's repository."""

    repository: FullName
    digest: Digest


class Attestation(Built):
    """That the repository has built it; known again by both."""

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "attestation", f"{self.repository.lower()} {self.digest}"


class DeploymentRecord(Built):
    """Where it runs; known again by the organization and by where it is under which name."""

    name: Name
    version: Name | None = None
    status: Literal["deployed", "decommissioned"] = "deployed"
    logical_environment: Name
    physical_environment: Text = ""
    cluster: Text = ""
    deployment_name: Name
    tags: dict[str, str] | None = Field(None, max_length=50)
    runtime_risks: list[Risk] | None = Field(None, max_length=4)

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place(self.logical_environment, self.physical_environment, self.cluster)

    @property
    def known_by(self) -> tuple[str, str] | None:
        owner = self.repository.lower().partition("/")[0]
        return "deployment record", f"{owner} {self.place} {self.deployment_name}"


class StorageRecord(Built):
    """Where it is kept; known again by the artifact and the place in the registry."""

    name: Name
    version: Name | None = None
    registry_url: str = Field(pattern="^https://[^\0]*$", max_length=256)
    registry_repository: Text = ""
    path: Text = ""
    artifact_url: str | None = Field(None, pattern="^https://[^\0]*$", max_length=152)
    status: Literal["active", "eol", "deleted"] = "active"

    @property
    def known_by(self) -> tuple[str, str] | None:
        place = (self.registry_url, self.registry_repository, self.path)
        return "storage record", f"{self.repository.lower()} {self.digest} {place}"


def attestation(db: Connection, wanted: Attestation) -> Change:
    """Keep that a repository has built something."""
    repo = _repository(db, wanted)
    made = artifacts.attest(db, repo["id"], wanted.digest)
    name = f"{repo['full_name']} {wanted.digest}"
    return Change("attestation", name, "created" if made else "unchanged")


def deployment_record(db: Connection, wanted: DeploymentRecord) -> Change:
    """Keep where something runs, as an operation would."""
    repo = _repository(db, wanted)
    attested = artifacts.attestation(db, repo["id"], wanted.digest)
    built = Deployment(
        repo["id"],
        attested,
        wanted.name,
        wanted.digest,
        wanted.version,
        wanted.status,
        wanted.deployment_name,
        wanted.tags,
        None if wanted.runtime_risks is None else [*wanted.runtime_risks],
    )
    (row,) = deployment_records.put(db, repo["owner_id"], wanted.place, [built])
    name = f"{repo['owner']} {wanted.logical_environment} {wanted.deployment_name}"
    return Change("deployment record", name, _outcome(row))


def storage_record(db: Connection, wanted: StorageRecord) -> Change:
    """Keep where something is kept, as an operation would."""
    repo = _repository(db, wanted)
    named = Named((repo["id"], wanted.digest), wanted.name, wanted.version)
    place = Storage(
        wanted.registry_url,
        wanted.registry_repository,
        wanted.path,
        wanted.artifact_url,
        wanted.status,
    )
    row = storage_records.put(db, repo["owner_id"], named, place)
    return Change("storage record", f"{repo['full_name']} {wanted.name}", _outcome(row))


def _repository(db: Connection, wanted: Built) -> Row:
    repo = repository_named(db, wanted.repository)
    if repo["owner_kind"] != "Organization":
        raise Invalid(f"{repo['full_name']} is no repository of an organization")
    return repo


def _outcome(row: Row) -> Outcome:
    outcomes: dict[str | None, Outcome] = {"created": "created", "updated": "updated"}
    return outcomes.get(row["change"], "unchanged")
