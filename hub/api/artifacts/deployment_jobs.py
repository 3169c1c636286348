"""Jobs that record the deployments of a cluster (group 7). A worker runs them."""

from typing import Annotated, Any, Literal, NotRequired

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.artifacts import deployments
from hub.api.artifacts.artifact_serializers import (
    DeploymentEntry,
    DeploymentError,
    Environment,
    Where,
)
from hub.api.artifacts.deployments import WRITE
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.resolve import text
from store import Row
from store.accounts import organizations
from store.artifacts import deployment_jobs
from store.clock import iso
from store.errors import Missing

ops = OperationGroup("orgs", org=organizations.by_login, cluster=text, job_id=deployment_jobs.get)


class NewDeploymentJob(TypedDict):
    logical_environment: Environment
    physical_environment: NotRequired[Where]
    deployments: Annotated[list[DeploymentEntry], MaxLen(5_000)]


class CreatedDeploymentJob(TypedDict):
    """The created job. `errors` lists the deployments that were left out."""

    job_id: int
    errors: list[DeploymentError]


class DeploymentJob(TypedDict):
    """A job. `total_count` is the number of deployments recorded so far.

    `errors` lists the deployments that were left out, and the reason if the job failed.
    """

    job_id: int
    status: Literal["pending", "processing", "completed", "failed"]
    started_at: NotRequired[str]
    total_count: int
    errors: list[dict[str, Any]]


@ops(
    "POST /orgs/{org}/artifacts/metadata/deployment-record/cluster/{cluster}/jobs",
    WRITE,
    status=202,
    errors=(409,),
    bodies=8,
)
def create_cluster_deployment_records_job(
    ctx: Context, org: Row, cluster: str, body: NewDeploymentJob
) -> CreatedDeploymentJob:
    """Create a cluster deployment records job

    The response lists the deployments that cannot be recorded. The others are recorded a little
    later, unless their name gets a record of another repository until then. 409 while another job
    for the cluster is running. A job with nothing to record has ended at once, and no other job
    waits for it.
    """
    place = deployments.place_in(cluster, body)
    found = deployments.sorted_out(ctx, org, place, body["deployments"])
    sender_id = None if ctx.caller is None else ctx.caller.account_id
    made = deployment_jobs.create(ctx.db, org["id"], sender_id, place, found.good, found.errors)
    return {"job_id": made, "errors": found.errors}


@ops(
    "GET /orgs/{org}/artifacts/metadata/deployment-record/cluster/{cluster}/jobs/{job_id}",
    WRITE,
)
def get_cluster_deployment_records_job(
    ctx: Context, org: Row, cluster: str, job: Row
) -> DeploymentJob:
    """Get a cluster deployment records job

    Collaborators who are no members see their own jobs only. Errors repeat what was sent, and may
    name private repositories. They are for the account that created the job, and for owners whose
    token shows all private repositories of the organization. For others `errors` is empty.
    """
    if job["cluster"] != cluster or not _may_see(ctx, org, job):
        raise Missing("job")
    shown: DeploymentJob = {
        "job_id": job["id"],
        "status": job["status"],
        "total_count": job["total_count"],
        "errors": job["errors"] if _shows_errors(ctx, org, job) else [],
    }
    if job["started_at"] is not None:
        shown["started_at"] = iso(job["started_at"])
    return shown


def _may_see(ctx: Context, org: Row, job: Row) -> bool:
    caller = ctx.required_caller
    if job["account_id"] == caller.account_id:
        return True
    return organizations.role_of(ctx.db, org, caller.account) is not None


def _shows_errors(ctx: Context, org: Row, job: Row) -> bool:
    caller = ctx.required_caller
    if job["account_id"] == caller.account_id:
        return True
    seen = deployments.viewer(ctx)
    shows_all = seen.private and seen.repositories is None
    return shows_all and organizations.role_of(ctx.db, org, caller.account) == "admin"
