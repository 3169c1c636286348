"""Storage records of an organization's artifacts (group 7): the registries that hold them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired

from annotated_types import MaxLen, MinLen
from pydantic import StringConstraints
from typing_extensions import TypedDict

from hub.api.artifacts import artifact_serializers, deployments
from hub.api.artifacts.artifact_serializers import (
    ArtifactMetadata,
    ArtifactName,
    Digest,
    RepositoryName,
)
from hub.api.artifacts.deployments import READ, WRITE
from hub.rest import organization_serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.paging import NumberedPaging
from hub.rest.repository_serializers import DetailedRepository
from hub.rest.resolve import text
from hub.rest.serializers import SimpleUser, row_serializer
from hub.rest.urls import Urls
from hub.rest.validation import Text
from store import Connection, Row
from store.accounts import accounts, organizations
from store.artifacts import artifacts, storage_records
from store.artifacts.artifacts import NamedArtifact
from store.artifacts.storage_records import Storage
from store.delivery.outbox import SnapshotEvent
from store.repositories import repositories

ops = OperationGroup("orgs", org=organizations.by_login, subject_digest=text)

Status = Literal["active", "eol", "deleted"]
Https = Annotated[Text, StringConstraints(pattern="^https://")]


class NewStorageRecord(TypedDict):
    """A storage record. `repository` and `path` belong to the registry.

    `github_repository` names one of the organization's repositories. It counts if no attestation
    identifies the repository.
    """

    name: ArtifactName
    digest: Digest
    registry_url: Annotated[Https, MinLen(1), MaxLen(256)]
    version: NotRequired[Annotated[Text, MinLen(1), MaxLen(100)]]
    artifact_url: NotRequired[Annotated[Https, MaxLen(152)]]
    path: NotRequired[Annotated[Text, MaxLen(512)]]
    repository: NotRequired[Annotated[Text, MaxLen(128)]]
    status: NotRequired[Status]
    github_repository: NotRequired[RepositoryName]
    return_records: NotRequired[bool]


class StorageRecord(TypedDict):
    id: int
    name: str
    digest: str
    registry_url: str
    artifact_url: NotRequired[str]
    repository: NotRequired[str]
    path: NotRequired[str]
    status: Status
    created_at: str
    updated_at: str


class StorageRecords(TypedDict):
    """Storage records, without the records if `return_records` is false."""

    total_count: int
    storage_records: NotRequired[list[StorageRecord]]


class StorageRecordEvent(TypedDict):
    action: Literal["created", "updated"]
    storage_record: StorageRecord
    artifact: ArtifactMetadata
    repository: DetailedRepository
    organization: OrganizationSimple
    sender: SimpleUser | None


ops.declare_events(storage_record=StorageRecordEvent)


@ops(
    "POST /orgs/{org}/artifacts/metadata/storage-record",
    WRITE,
    emits=("storage_record.created", "storage_record.updated"),
)
def create_artifact_storage_record(
    ctx: Context, org: Row, body: NewStorageRecord
) -> StorageRecords:
    """Create artifact metadata storage record

    Replaces a record of the same artifact and the same place in a registry. 404 if neither an
    attestation nor a name identifies the artifact's repository, 403 if you may not push to it.
    """
    source = deployments.source_of(ctx, org, body["digest"], body.get("github_repository"))
    named = NamedArtifact((source.repo_id, body["digest"]), body["name"], body.get("version"))
    wanted = Storage(
        body["registry_url"],
        body.get("repository", ""),
        body.get("path", ""),
        body.get("artifact_url"),
        body.get("status", "active"),
    )
    row = storage_records.put(ctx.db, org["id"], named, wanted)
    if row["change"]:
        _emit(ctx, org, row)
    if not body.get("return_records", True):
        return {"total_count": 1}
    return {"total_count": 1, "storage_records": [_serialize(row)]}


@ops(
    "GET /orgs/{org}/artifacts/{subject_digest}/metadata/storage-records",
    READ,
    default_per_page=artifact_serializers.A_PAGE,
    max_per_page=artifact_serializers.A_PAGE,
)
def list_artifact_storage_records(
    ctx: Context, org: Row, subject_digest: str, page: NumberedPaging
) -> StorageRecords:
    """List artifact storage records

    The records of the artifact with this digest, oldest first.
    """
    digest, viewer = deployments.digest_in_path(subject_digest), deployments.viewer(ctx)
    page.total = artifacts.total(ctx.db, org["id"], digest, viewer, "storages")
    rows = storage_records.of_digest(ctx.db, org["id"], digest, viewer, **page.bounds)
    return {"total_count": page.total, "storage_records": [_serialize(row) for row in rows]}


def _emit(ctx: Context, org: Row, row: Row) -> None:
    repo = repositories.get(ctx.db, row["repo_id"])
    ctx.emit(f"storage_record.{row['change']}", repo, **_payload(ctx.urls, org, row))


def _payload(urls: Urls, org: Row, row: Row) -> dict[str, Any]:
    return {
        "storage_record": _serialize(row),
        "artifact": artifact_serializers.artifact(row),
        "organization": organization_serializers.organization(urls, org),
    }


def _snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    org = accounts.required(db, repo["owner_id"])
    return [
        SnapshotEvent("storage_record.updated", repo["id"], _payload(urls, org, row))
        for row in rows
    ]


_record = row_serializer(StorageRecord)


def _serialize(row: Row) -> StorageRecord:
    shown: Any = _record(row)
    said = {name: row[name] for name in ("artifact_url", "repository", "path") if row[name]}
    record: StorageRecord = shown | said
    return record


ops.declare_snapshots(storage_record=_snapshot)
