"""The sections of artifacts: their attestations, deployment records and storage records."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hub.cli.console.options import repository_named
from hub.cli.state.base import FullName, StateEntry
from hub.cli.state.changes import Outcome, StateChange
from store import Connection, Row
from store.artifacts import artifacts, deployment_records, storage_records
from store.artifacts.artifacts import NamedArtifact
from store.artifacts.deployment_records import Deployment, DeploymentPlace
from store.artifacts.storage_records import Storage
from store.errors import Invalid

Digest = Annotated[str, AfterValidator(artifacts.normal_digest)]
Name = Annotated[str, Field(min_length=1, max_length=256, pattern="^[^\0]*$")]
Text = Annotated[str, Field(max_length=512, pattern="^[^\0]*$")]
Risk = Literal["critical-resource", "internet-exposed", "lateral-movement", "sensitive-data"]


class BuiltEntry(StateEntry):
    """An artifact of an organization's repository."""

    repository: FullName
    digest: Digest


class AttestationEntry(BuiltEntry):
    """An attestation that the repository built the artifact, identified by both."""

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "attestation", f"{self.repository.lower()} {self.digest}"


class DeploymentRecordEntry(BuiltEntry):
    """A deployment of an artifact, identified by its organization, its place and `deployment_name`.

    Its place is the environments and the cluster.
    """

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
    def place(self) -> DeploymentPlace:
        """Return where it runs."""
        return DeploymentPlace(self.logical_environment, self.physical_environment, self.cluster)

    @property
    def known_by(self) -> tuple[str, str] | None:
        owner = self.repository.lower().partition("/")[0]
        return "deployment record", f"{owner} {self.place} {self.deployment_name}"


class StorageRecordEntry(BuiltEntry):
    """A copy of an artifact in a registry, identified by the artifact and its place in the
    registry.
    """

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


def attestation(db: Connection, wanted: AttestationEntry) -> StateChange:
    """Store that a repository built an artifact."""
    repo = _repository(db, wanted)
    made = artifacts.attest(db, repo["id"], wanted.digest)
    name = f"{repo['full_name']} {wanted.digest}"
    return StateChange("attestation", name, "created" if made else "unchanged")


def deployment_record(db: Connection, wanted: DeploymentRecordEntry) -> StateChange:
    """Store where an artifact runs, as the API's operation does."""
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
    return StateChange("deployment record", name, _outcome(row))


def storage_record(db: Connection, wanted: StorageRecordEntry) -> StateChange:
    """Store where a copy of an artifact is, as the API's operation does."""
    repo = _repository(db, wanted)
    named = NamedArtifact((repo["id"], wanted.digest), wanted.name, wanted.version)
    place = Storage(
        wanted.registry_url,
        wanted.registry_repository,
        wanted.path,
        wanted.artifact_url,
        wanted.status,
    )
    row = storage_records.put(db, repo["owner_id"], named, place)
    return StateChange("storage record", f"{repo['full_name']} {wanted.name}", _outcome(row))


def _repository(db: Connection, wanted: BuiltEntry) -> Row:
    repo = repository_named(db, wanted.repository)
    if repo["owner_kind"] != "Organization":
        raise Invalid(f"{repo['full_name']} is no repository of an organization")
    return repo


def _outcome(row: Row) -> Outcome:
    outcomes: dict[str | None, Outcome] = {"created": "created", "updated": "updated"}
    return outcomes.get(row["change"], "unchanged")
