"""Types and serializers of artifacts: digests, deployments, records."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired

from annotated_types import MaxLen, MinLen
from pydantic import AfterValidator, Field, StringConstraints
from typing_extensions import TypedDict

from hub.rest import organization_serializers, serializers
from hub.rest.event_payloads import EventData
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.repository_serializers import DetailedRepository
from hub.rest.serializers import SimpleUser, row_serializer
from hub.rest.urls import Urls
from hub.rest.validation import Text
from store import Connection, Row
from store.accounts import accounts
from store.artifacts.artifacts import ALGORITHMS, Cause, normal_digest
from store.artifacts.deployment_records import LONGEST_NAME, LONGEST_PLACE
from store.clock import iso
from store.delivery.outbox import SnapshotEvent
from store.repositories import repositories

LONGEST_DIGEST = max(ALGORITHMS.values()) + len("sha256:")
Digest = Annotated[
    str,
    MaxLen(LONGEST_DIGEST),
    AfterValidator(normal_digest),
    Field(json_schema_extra={"pattern": "^(sha(256|384|512):)?[0-9a-fA-F]{64,128}$"}),
]
"""A SHA-256, SHA-384 or SHA-512 digest in hexadecimal digits. Without a prefix, its length decides
the algorithm.
"""

Status = Literal["deployed", "decommissioned"]
Risk = Literal["critical-resource", "internet-exposed", "lateral-movement", "sensitive-data"]
ArtifactName = Annotated[Text, MinLen(1), MaxLen(256)]
DeploymentName = Annotated[Text, MinLen(1), MaxLen(LONGEST_NAME)]
Environment = Annotated[Text, MinLen(1), MaxLen(LONGEST_PLACE)]
Where = Annotated[Text, MaxLen(LONGEST_PLACE)]
RepositoryName = Annotated[
    str, MinLen(1), MaxLen(100), StringConstraints(pattern="^[A-Za-z0-9.\\-_]+$")
]
Tag = Annotated[Text, MaxLen(256)]
MOST_TAGS = 50
# All records of a digest are on one page, unless they are too many to read.
A_PAGE = 1_000


def _once(risks: list[Risk]) -> list[Risk]:
    if len(set(risks)) < len(risks):
        raise ValueError("each risk may be given only once")
    return risks


Risks = Annotated[
    list[Risk],
    MaxLen(4),
    AfterValidator(_once),
    Field(json_schema_extra={"uniqueItems": True}),
]


class Deployed(TypedDict):
    """A deployment.

    `github_repository` names one of the organization's repositories. It counts if no attestation
    identifies the repository.
    """

    name: ArtifactName
    digest: Digest
    deployment_name: DeploymentName
    github_repository: NotRequired[RepositoryName]
    runtime_risks: NotRequired[Risks]


class DeploymentEntry(Deployed):
    """A deployment of a cluster."""

    version: NotRequired[Annotated[Text, MaxLen(100)]]
    status: NotRequired[Status]
    tags: NotRequired[Annotated[dict[Tag, Tag], MaxLen(MOST_TAGS)]]


class FailedDeploymentEntry(TypedDict):
    name: str
    digest: str
    deployment_name: str
    version: str | None
    status: str
    github_repository: str | None
    tags: dict[str, str]
    runtime_risks: list[str]


class DeploymentError(TypedDict):
    """The reason why a deployment was left out: its repository is unknown or not writable."""

    cause: Cause
    deployment: FailedDeploymentEntry


class DeploymentRecord(TypedDict):
    """A deployment record. `created` equals `created_at`."""

    id: int
    digest: str
    logical_environment: str
    physical_environment: str
    cluster: str
    deployment_name: str
    status: Status
    tags: dict[str, str]
    runtime_risks: list[Risk]
    created: str
    created_at: str
    updated_at: str
    attestation_id: int | None


class ArtifactMetadata(TypedDict):
    name: str
    version: str | None
    digest: str


class DeploymentRecordEvent(TypedDict):
    action: Literal["created", "updated"]
    deployment_record: DeploymentRecord
    artifact: ArtifactMetadata
    repository: DetailedRepository
    organization: OrganizationSimple
    sender: SimpleUser | None


def failed_entry(entry: DeploymentEntry) -> FailedDeploymentEntry:
    """Return a deployment as it was given, with the defaults filled in."""
    return {
        "name": entry["name"],
        "digest": entry["digest"],
        "deployment_name": entry["deployment_name"],
        "version": entry.get("version"),
        "status": entry.get("status", "deployed"),
        "github_repository": entry.get("github_repository"),
        "tags": entry.get("tags", {}),
        "runtime_risks": [*entry.get("runtime_risks", [])],
    }


_record = row_serializer(DeploymentRecord, "created")


def deployment_record(row: Row) -> DeploymentRecord:
    return _record(row, created=iso(row["created_at"]))


def artifact(row: Row) -> ArtifactMetadata:
    return {"name": row["name"], "version": row["version"], "digest": row["digest"]}


def event_data(urls: Urls, db: Connection, rows: Sequence[Row]) -> list[EventData]:
    """Return the event data for deployment records from `deployment_records.put`.

    Their `sender_id`, if present, is the sender.
    """
    repos = repositories.of(db, {row["repo_id"] for row in rows})
    ids = {row[name] for row in rows for name in ("organization_id", "sender_id") if row.get(name)}
    people = accounts.of(db, ids)
    found: list[EventData] = []
    for row in rows:
        payload: dict[str, Any] = {
            "deployment_record": deployment_record(row),
            "artifact": artifact(row),
            "organization": organization_serializers.organization(
                urls, people[row["organization_id"]]
            ),
        }
        if "sender_id" in row:
            sender = people.get(row["sender_id"])
            payload["sender"] = None if sender is None else serializers.simple_user(urls, sender)
        found.append((repos[row["repo_id"]], payload))
    return found


def snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    """Return an event for each deployment record of a repository as it is now."""
    return [
        SnapshotEvent("deployment_record.updated", repo["id"], payload)
        for _, payload in event_data(urls, db, rows)
    ]
