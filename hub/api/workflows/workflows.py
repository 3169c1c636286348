"""Workflows, as the events of their runs have reported them."""

from typing_extensions import TypedDict

from hub.auth.repository_access import on_repo
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import node_id
from hub.rest.urls import Urls
from store import Row
from store.clock import iso
from store.workflows import workflows

ops = OperationGroup("actions", workflow_id=workflows.find)

READ = on_repo("actions", "read").or_anyone()


class Workflow(TypedDict):
    id: int
    node_id: str
    name: str
    path: str
    state: str
    created_at: str
    updated_at: str
    url: str
    html_url: str
    badge_url: str


class Workflows(TypedDict):
    total_count: int
    workflows: list[Workflow]


@ops("GET /repos/{owner}/{repo}/actions/workflows", READ)
def list_repo_workflows(ctx: Context, repo: Row, page: NumberedPaging) -> Workflows:
    """List repository workflows

    Those of which an event has reported a run.
    """
    page.total = workflows.count(ctx.db, repo["id"])
    rows = workflows.page(ctx.db, repo["id"], **page.bounds)
    shown = [_workflow(ctx.urls, repo, row) for row in rows]
    return {"total_count": page.total, "workflows": shown}


@ops("GET /repos/{owner}/{repo}/actions/workflows/{workflow_id}", READ)
def get_workflow(ctx: Context, repo: Row, workflow: Row) -> Workflow:
    """Get a workflow

    `workflow_id` is its id, or the name of its file. The id 0 stands for the workflow of all runs
    for which no event has named one.
    """
    return _workflow(ctx.urls, repo, workflow)


def _workflow(urls: Urls, repo: Row, row: Row) -> Workflow:
    return {
        "id": row["number"],
        "node_id": node_id("Workflow", row["number"]),
        "name": row["name"],
        "path": row["path"],
        "state": row["state"],
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["reported_at"] or row["created_at"]),
        "url": urls.workflow(repo, row["number"]),
        "html_url": urls.file_page(repo, repo["default_branch"], row["path"]),
        "badge_url": urls.workflow_badge(repo, row["file_name"]),
    }
