"""Jobs of workflow runs, as events have reported them."""

from typing import Any, Literal

import orjson
from typing_extensions import TypedDict

from hub.auth.repository_access import on_repo
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import node_id, time
from hub.rest.urls import Urls
from store import Row
from store.clock import iso
from store.workflows import job_queries, workflow_runs

ops = OperationGroup(
    "actions",
    run_id=workflow_runs.get,
    attempt_number=workflow_runs.attempt,
    job_id=job_queries.find,
)

READ = on_repo("actions", "read").or_anyone()


class JobQuery(TypedDict, total=False):
    """Which attempts of the run to list."""

    filter: Literal["latest", "all"]


class WorkflowStep(TypedDict):
    name: str
    status: str
    conclusion: str | None
    number: int
    started_at: str | None
    completed_at: str | None


class WorkflowJob(TypedDict):
    """A job of a workflow run. Members that no event has reported are null or empty."""

    id: int
    run_id: int
    run_url: str
    run_attempt: int
    node_id: str
    head_sha: str
    head_branch: str | None
    url: str
    html_url: str | None
    status: str
    conclusion: str | None
    created_at: str
    started_at: str
    completed_at: str | None
    name: str
    steps: list[WorkflowStep]
    check_run_url: str
    labels: list[str]
    runner_id: int | None
    runner_name: str | None
    runner_group_id: int | None
    runner_group_name: str | None
    workflow_name: str | None


class WorkflowJobs(TypedDict):
    total_count: int
    jobs: list[WorkflowJob]


@ops("GET /repos/{owner}/{repo}/actions/runs/{run_id}/jobs", READ, errors=(422,))
def list_jobs_for_workflow_run(
    ctx: Context, repo: Row, run: Row, page: NumberedPaging, query: JobQuery
) -> WorkflowJobs:
    """List jobs for a workflow run

    The jobs of its latest attempt. The filter `all` adds the jobs of earlier attempts.
    """
    return _page(ctx, repo, run, page, None if query.get("filter") == "all" else run["attempt"])


@ops("GET /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs", READ)
def list_jobs_for_workflow_run_attempt(
    ctx: Context, repo: Row, run: Row, attempt: Row, page: NumberedPaging
) -> WorkflowJobs:
    """List jobs for a workflow run attempt"""
    return _page(ctx, repo, run, page, attempt["number"])


@ops("GET /repos/{owner}/{repo}/actions/jobs/{job_id}", READ)
def get_job_for_workflow_run(ctx: Context, repo: Row, job: Row) -> WorkflowJob:
    """Get a job for a workflow run"""
    return _job(ctx.urls, repo, job)


def _page(
    ctx: Context, repo: Row, run: Row, page: NumberedPaging, attempt: int | None
) -> WorkflowJobs:
    page.total = job_queries.count(ctx.db, run["id"], attempt=attempt)
    rows = job_queries.page(ctx.db, run["id"], attempt=attempt, **page.bounds)
    return {"total_count": page.total, "jobs": [_job(ctx.urls, repo, row) for row in rows]}


def _job(urls: Urls, repo: Row, row: Row) -> WorkflowJob:
    details, check_run = orjson.loads(row["details"]), row["check_run_number"]
    return {
        "id": row["number"],
        "run_id": row["run_number"],
        "run_url": urls.workflow_run(repo, row["run_number"]),
        "run_attempt": row["attempt"],
        "node_id": node_id("WorkflowJob", row["number"]),
        "head_sha": row["head_sha"] or "",
        "head_branch": row["head_branch"],
        "url": urls.workflow_job(repo, row["number"]),
        "html_url": f"{urls.page(repo)}/actions/runs/{row['run_number']}/job/{row['number']}",
        "status": row["status"],
        "conclusion": row["conclusion"],
        "created_at": iso(row["created_at"]),
        "started_at": iso(details.get("started_at") or row["created_at"]),
        "completed_at": time(details.get("completed_at")),
        "name": row["name"],
        "steps": [_step(step) for step in details.get("steps", [])],
        "check_run_url": "" if check_run is None else urls.check_run(repo, check_run),
        "labels": details.get("labels", []),
        "runner_id": details.get("runner_id"),
        "runner_name": details.get("runner_name"),
        "runner_group_id": details.get("runner_group_id"),
        "runner_group_name": details.get("runner_group_name"),
        "workflow_name": row["workflow_name"] or None,
    }


def _step(given: dict[str, Any]) -> WorkflowStep:
    return {
        "name": given["name"],
        "status": given["status"],
        "conclusion": given.get("conclusion"),
        "number": given["number"],
        "started_at": time(given.get("started_at")),
        "completed_at": time(given.get("completed_at")),
    }
