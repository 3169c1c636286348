"""The sections of artifacts: their attestations, deployment records and storage records."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hub.cli.state.base import RepositoryPart, characters
from hub.cli.state.changes import Outcome, StateChange
from store import Connection, Row
from store.artifacts import artifacts, deployment_records, storage_records
from store.artifacts.artifacts import NamedArtifact
from store.artifacts.deployment_records import (
    LONGEST_NAME,
    LONGEST_PLACE,
    Deployment,
    DeploymentPlace,
)
from store.artifacts.storage_records import Storage
from store.errors import Invalid

Digest = Annotated[str, AfterValidator(artifacts.normal_digest)]
Name = Annotated[str, characters(1, 256)]
Text = Annotated[str, characters(0, 512)]
Environment = Annotated[str, characters(1, LONGEST_PLACE)]
Where = Annotated[str, characters(0, LONGEST_PLACE)]
DeploymentName = Annotated[str, characters(1, LONGEST_NAME)]
Risk = Literal["critical-resource", "internet-exposed", "lateral-movement", "sensitive-data"]
OUTCOMES: dict[str | None, Outcome] = {"created": "created", "updated": "updated"}


class BuiltEntry(RepositoryPart):
    """An artifact of an organization's repository."""

    digest: Digest

    def parent(self, db: Connection) -> Row:
        """Return the repository. Raises Missing if there is none, Invalid if it is a user's."""
        repo = super().parent(db)
        if repo["owner_kind"] != "Organization":
            raise Invalid(f"{repo['full_name']} is no repository of an organization")
        return repo


class AttestationEntry(BuiltEntry):
    """An attestation that the repository built the artifact, identified by both."""

    identified_by = ("repository", "digest")

    def find(self, db: Connection, parent: Row) -> int | None:
        return artifacts.attestation(db, parent["id"], self.digest)

    def write(self, db: Connection, parent: Row, before: object) -> None:
        artifacts.attest(db, parent["id"], self.digest)


class RecordEntry(BuiltEntry):
    """A record of an artifact, which is stored as the API's operation stores it.

    But a record that stays the same keeps its `updated_at`.
    """

    name: Name
    version: Name | None = None

    def apply(self, db: Connection) -> StateChange:
        parent = self.parent(db)
        row = self.put(db, parent)
        return self.change(db, parent, OUTCOMES.get(row["change"], "unchanged"))

    def put(self, db: Connection, parent: Row) -> Row:
        """Store the record. Return it with its `change`: `created`, `updated` or None."""
        raise NotImplementedError


def name_alike(entries: Iterable[RecordEntry]) -> None:
    """Give all records of an artifact its first name and version, as `artifacts.put` does.

    Otherwise each record would rename the artifact, at each load.
    """
    names: dict[tuple[str, str], str] = {}
    versions: dict[tuple[str, str], str] = {}
    for entry in entries:
        key = (entry.repository.lower(), entry.digest)
        entry.name = names.setdefault(key, entry.name)
        if entry.version is not None:
            entry.version = versions.setdefault(key, entry.version)


class DeploymentRecordEntry(RecordEntry):
    """A deployment of an artifact, identified by its organization, its place and `deployment_name`.

    Its place is the environments and the cluster. A new one is `deployed` by default. If the
    document has several names or versions of an artifact, the first one counts.
    """

    status: Literal["deployed", "decommissioned"] = "deployed"
    logical_environment: Environment
    physical_environment: Where = ""
    cluster: Where = ""
    deployment_name: DeploymentName
    tags: dict[str, str] | None = Field(None, max_length=50)
    runtime_risks: list[Risk] | None = Field(None, max_length=4)

    @property
    def place(self) -> DeploymentPlace:
        return DeploymentPlace(self.logical_environment, self.physical_environment, self.cluster)

    @property
    def identity(self) -> str:
        owner = self.repository.lower().partition("/")[0]
        return f"{owner} {self.place} {self.deployment_name}"

    def name_in(self, db: Connection, parent: Row) -> str:
        return f"{parent['owner']} {self.logical_environment} {self.deployment_name}"

    def put(self, db: Connection, parent: Row) -> Row:
        built = Deployment(
            parent["id"],
            artifacts.attestation(db, parent["id"], self.digest),
            self.name,
            self.digest,
            self.version,
            self.given_or("status"),
            self.deployment_name,
            self.tags,
            None if self.runtime_risks is None else [*self.runtime_risks],
        )
        (row,) = deployment_records.put(db, parent["owner_id"], self.place, [built], renew=False)
        return row


class StorageRecordEntry(RecordEntry):
    """A copy of an artifact in a registry, identified by the artifact and its place in the
    registry. A new one is `active` by default. If the document has several names or versions of an
    artifact, the first one counts.
    """

    registry_url: str = Field(pattern="^https://[^\0]*$", max_length=256)
    registry_repository: Text = ""
    path: Text = ""
    artifact_url: str | None = Field(None, pattern="^https://[^\0]*$", max_length=152)
    status: Literal["active", "eol", "deleted"] = "active"

    @property
    def identity(self) -> str:
        place = (self.registry_url, self.registry_repository, self.path)
        return f"{self.repository.lower()} {self.digest} {place}"

    def name_in(self, db: Connection, parent: Row) -> str:
        return f"{parent['full_name']} {self.name}"

    def put(self, db: Connection, parent: Row) -> Row:
        named = NamedArtifact((parent["id"], self.digest), self.name, self.version)
        place = Storage(
            self.registry_url,
            self.registry_repository,
            self.path,
            self.artifact_url,
            self.given_or("status"),
        )
        return storage_records.put(db, parent["owner_id"], named, place, renew=False)
