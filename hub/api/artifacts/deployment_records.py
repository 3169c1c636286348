"""Deployment records of an organization's artifacts (group 7): the places where they run."""

from typing import Annotated, NotRequired

from annotated_types import MaxLen, MinLen
from typing_extensions import TypedDict

from hub.api.artifacts import artifact_serializers, deployments
from hub.api.artifacts.artifact_serializers import (
    Deployed,
    DeploymentEntry,
    DeploymentError,
    DeploymentRecord,
    DeploymentRecordEvent,
    Environment,
    Status,
    Tag,
    Where,
)
from hub.api.artifacts.deployments import EVENTS, READ, WRITE
from hub.http.response import TypedReply
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.resolve import text
from hub.rest.validation import Text
from store import Row
from store.accounts import organizations
from store.artifacts import artifacts, deployment_records
from store.artifacts.deployment_records import DeploymentPlace

ops = OperationGroup("orgs", org=organizations.by_login, cluster=text, subject_digest=text)


class NewDeploymentRecord(Deployed):
    version: NotRequired[Annotated[Text, MinLen(1), MaxLen(100)]]
    status: Status
    logical_environment: Environment
    physical_environment: NotRequired[Where]
    cluster: NotRequired[Where]
    tags: NotRequired[Annotated[dict[Tag, Tag], MaxLen(5)]]
    return_records: NotRequired[bool]


class ClusterDeploymentRecords(TypedDict):
    logical_environment: Environment
    physical_environment: NotRequired[Where]
    deployments: Annotated[list[DeploymentEntry], MaxLen(1_000)]
    partial_success: NotRequired[bool]
    return_records: NotRequired[bool]


class DeploymentRecords(TypedDict):
    """Records of deployments, without the records if `return_records` is false.

    `errors` lists the deployments that were left out.
    """

    total_count: int
    deployment_records: NotRequired[list[DeploymentRecord]]
    errors: NotRequired[list[DeploymentError]]


ops.declare_events(deployment_record=DeploymentRecordEvent)
ops.declare_serializers(deployment_record=artifact_serializers.event_data)
ops.declare_snapshots(deployment_record=artifact_serializers.snapshot)


@ops("POST /orgs/{org}/artifacts/metadata/deployment-record", WRITE, emits=EVENTS)
def create_artifact_deployment_record(
    ctx: Context, org: Row, body: NewDeploymentRecord
) -> DeploymentRecords:
    """Create an artifact deployment record

    Replaces a record with the same environments, cluster and name. Tags and risks that are left out
    stay as they are, unless the record was of another repository. 404 if neither an attestation nor
    a name identifies the artifact's repository, 403 if you may not push to it or not see the
    repository of the record that it replaces.
    """
    source = deployments.source_of(ctx, org, body["digest"], body.get("github_repository"))
    place = DeploymentPlace(
        body["logical_environment"],
        body.get("physical_environment", ""),
        body.get("cluster", ""),
    )
    deployments.check_replaced(ctx, org, place, body["deployment_name"])
    wanted = [deployments.deployment(body, source)]
    rows = deployment_records.put(ctx.db, org["id"], place, wanted)
    deployments.emit_records(ctx, rows)
    return _serialize(rows, returned=body.get("return_records", True))


@ops(
    "POST /orgs/{org}/artifacts/metadata/deployment-record/cluster/{cluster}",
    WRITE,
    also=(207,),
    bodies=4,
    emits=EVENTS,
)
def set_cluster_deployment_records(
    ctx: Context, org: Row, cluster: str, body: ClusterDeploymentRecords
) -> DeploymentRecords | TypedReply:
    """Set cluster deployment records

    Records all deployments or none. With `partial_success` it records those whose repositories are
    found and may be pushed to; if others are left out, it responds with 207 and lists them.
    """
    place = deployments.place_in(cluster, body)
    found = deployments.sorted_out(ctx, org, place, body["deployments"])
    if not body.get("partial_success", False):
        deployments.refuse(found)
    rows = deployment_records.put(ctx.db, org["id"], place, found.good)
    deployments.emit_records(ctx, rows)
    shown = _serialize(rows, returned=body.get("return_records", True))
    return TypedReply(207, shown | {"errors": found.errors}) if found.bad else shown


@ops(
    "GET /orgs/{org}/artifacts/{subject_digest}/metadata/deployment-records",
    READ,
    default_per_page=artifact_serializers.A_PAGE,
    max_per_page=artifact_serializers.A_PAGE,
)
def list_artifact_deployment_records(
    ctx: Context, org: Row, subject_digest: str, page: NumberedPaging
) -> DeploymentRecords:
    """List artifact deployment records

    The records of the artifact with this digest, oldest first.
    """
    digest, viewer = deployments.digest_in_path(subject_digest), deployments.viewer(ctx)
    page.total = artifacts.total(ctx.db, org["id"], digest, viewer, "deployments")
    rows = deployment_records.of_digest(ctx.db, org["id"], digest, viewer, **page.bounds)
    shown = [artifact_serializers.deployment_record(row) for row in rows]
    return {"total_count": page.total, "deployment_records": shown}


def _serialize(rows: list[Row], *, returned: bool) -> DeploymentRecords:
    shown: DeploymentRecords = {"total_count": len(rows)}
    if returned:
        shown["deployment_records"] = [artifact_serializers.deployment_record(row) for row in rows]
    return shown
