"""Workflow runs, as events have reported them."""

import re
from dataclasses import replace
from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen
from typing_extensions import TypedDict

from hub.api.workflows import workflow_run_serializers
from hub.api.workflows.workflow_run_serializers import WorkflowRun
from hub.auth.repository_access import on_repo
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.validation import Digits, Text
from store import Row, clock
from store.clock import DAY
from store.errors import Invalid, Missing
from store.workflows import run_queries, workflow_runs, workflows
from store.workflows.run_queries import RunFilter

ops = OperationGroup(
    "actions",
    run_id=workflow_runs.get,
    attempt_number=workflow_runs.attempt,
    workflow_id=workflows.find,
)

READ = on_repo("actions", "read").or_anyone()
BOUND = re.compile(r"(>=|<=|>|<)?([^.*]+)")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

Name = Annotated[Text, MaxLen(255)]
Span = tuple[int | None, int | None]


class PullsWanted(TypedDict, total=False):
    """Whether to leave out the runs' pull requests."""

    exclude_pull_requests: bool


class RunQuery(PullsWanted, total=False):
    """A filter of workflow runs. `status` is a status or a conclusion.

    `created` is a date or a time, also with `>`, `>=`, `<` or `<=` before it, or two of them with
    `..` between.
    """

    actor: Name
    branch: Name
    event: Name
    status: Literal[
        "completed",
        "action_required",
        "cancelled",
        "failure",
        "neutral",
        "skipped",
        "stale",
        "success",
        "timed_out",
        "in_progress",
        "queued",
        "requested",
        "waiting",
        "pending",
    ]
    created: Name
    check_suite_id: Annotated[int, Ge(0), Le(2**63 - 1), Digits]
    head_sha: Name


class WorkflowRuns(TypedDict):
    total_count: int
    workflow_runs: list[WorkflowRun]


class WorkflowArtifact(TypedDict):
    """An artifact of a run. The lists have none."""

    id: int
    name: str


class WorkflowArtifacts(TypedDict):
    total_count: int
    artifacts: list[WorkflowArtifact]


@ops("GET /repos/{owner}/{repo}/actions/runs", READ, errors=(422,))
def list_workflow_runs_for_repo(
    ctx: Context, repo: Row, page: NumberedPaging, query: RunQuery
) -> WorkflowRuns:
    """List workflow runs for a repository

    The newest first.
    """
    return _page(ctx, repo, page, query, _chosen(query))


@ops("GET /repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs", READ, errors=(422,))
def list_workflow_runs(
    ctx: Context, repo: Row, workflow: Row, page: NumberedPaging, query: RunQuery
) -> WorkflowRuns:
    """List workflow runs for a workflow

    The newest first.
    """
    chosen = replace(_chosen(query), workflow_number=workflow["number"])
    return _page(ctx, repo, page, query, chosen)


@ops("GET /repos/{owner}/{repo}/actions/runs/{run_id}", READ)
def get_workflow_run(ctx: Context, repo: Row, run: Row, query: PullsWanted) -> WorkflowRun:
    """Get a workflow run

    Members that no event has reported are null, empty or 0.
    """
    return _shown(ctx, repo, [run], query)[0]


@ops("GET /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}", READ)
def get_workflow_run_attempt(
    ctx: Context, repo: Row, run: Row, attempt: Row, query: PullsWanted
) -> WorkflowRun:
    """Get a workflow run attempt

    The latest attempt, which is the run. Earlier ones are 404: later events have replaced them.
    Their jobs are listed.
    """
    if attempt["number"] != run["attempt"]:
        raise Missing("attempt")
    return _shown(ctx, repo, [run], query)[0]


@ops("GET /repos/{owner}/{repo}/actions/runs/{run_id}/artifacts", READ)
def list_workflow_run_artifacts(ctx: Context, repo: Row, run: Row) -> WorkflowArtifacts:
    """List workflow run artifacts

    The list is empty, because no event reports artifacts. Clients ask for it to show a run.
    """
    return {"total_count": 0, "artifacts": []}


def _page(
    ctx: Context, repo: Row, page: NumberedPaging, query: RunQuery, chosen: RunFilter
) -> WorkflowRuns:
    page.total = run_queries.count(ctx.db, repo["id"], chosen)
    rows = run_queries.page(ctx.db, repo["id"], chosen, **page.bounds)
    return {"total_count": page.total, "workflow_runs": _shown(ctx, repo, rows, query)}


def _shown(ctx: Context, repo: Row, rows: list[Row], query: PullsWanted) -> list[WorkflowRun]:
    pulls = not query.get("exclude_pull_requests", False)
    return workflow_run_serializers.workflow_runs(ctx.urls, ctx.db, repo, rows, pulls=pulls)


def _chosen(query: RunQuery) -> RunFilter:
    first, last = _span(query["created"]) if "created" in query else (None, None)
    return RunFilter(
        actor=query.get("actor"),
        branch=query.get("branch"),
        event=query.get("event"),
        status=query.get("status"),
        head_sha=query.get("head_sha"),
        suite_number=query.get("check_suite_id"),
        created_from=first,
        created_before=last,
    )


def _span(given: str) -> Span:
    """Return the first moment of a span of time, and the first one after it, in microseconds.

    None stands for an open end. Raises Invalid for a malformed date or time.
    """
    before, dots, after = given.partition("..")
    if dots:
        return _moments(before)[0], _moments(after)[1]
    found = BOUND.fullmatch(given)
    sign, bare = (found[1], found[2]) if found else (None, given)
    first, end = _moments(bare)
    spans = {">": (end, None), ">=": (first, None), "<": (None, first), "<=": (None, end)}
    return spans.get(sign or "", (first, end))


def _moments(given: str) -> Span:
    """Return the first moment of a date or time, and the first one after it; None twice for `*`."""
    if given == "*":
        return None, None
    try:
        first = clock.parse(f"{given}T00:00:00Z" if DATE.fullmatch(given) else given)
    except (ValueError, OverflowError):
        raise Invalid(
            "created: use a date or time such as 2026-11-21, >=2026-11-21 or 2026-11-01..*",
            field="created",
            resource="WorkflowRun",
        ) from None
    return first, first + (DAY if DATE.fullmatch(given) else clock.SECOND)
