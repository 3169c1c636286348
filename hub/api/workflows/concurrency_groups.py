"""Concurrency groups (group 5): one run or job of a group is active, and others wait in a queue.

Their state comes from `workflow_run` and `workflow_job` events (see
`store.projection.concurrency_projection`), or from a state document.
"""

from typing import Annotated, Literal, NotRequired

from annotated_types import Ge, Le
from typing_extensions import TypedDict

from hub.auth.repository_access import on_repo
from hub.http.errors import Rejected
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import AroundPaging, OnwardPaging
from hub.rest.serializers import time
from hub.rest.urls import Urls
from hub.rest.validation import Digits
from store import Row
from store.errors import Invalid
from store.workflows import concurrency, workflow_runs

ops = OperationGroup("actions", run_id=workflow_runs.get, concurrency_group_name=concurrency.get)

READ = on_repo("actions", "read").or_anyone()
Number = Annotated[int, Ge(1), Le(2**63 - 1), Digits]


class AheadFilter(TypedDict, total=False):
    """A filter: only the members ahead of this run or this job.

    At most one of the two may be given.
    """

    ahead_of_run: Number
    ahead_of_job: Number


class ConcurrencyGroupItem(TypedDict):
    group_name: str
    group_url: str
    last_acquired_at: str | None


class ConcurrencyGroups(TypedDict):
    total_count: int
    concurrency_groups: list[ConcurrencyGroupItem]


class ConcurrencyMember(TypedDict):
    """A run or job in the group.

    Only a job has the `job_` members; a called workflow counts as a run.
    """

    run_id: int
    run_name: str
    run_url: str
    run_html_url: str
    job_id: NotRequired[int]
    job_name: NotRequired[str]
    job_url: NotRequired[str]
    job_html_url: NotRequired[str]
    status: Literal["in_progress", "pending"]


class ConcurrencyGroup(TypedDict):
    group_name: str
    group_url: str
    total_count: int
    group_members: list[ConcurrencyMember]


class PlacedConcurrencyMember(ConcurrencyMember):
    """A member with its position: 0 holds the group, 1, 2, ... wait.

    `position_url` lists the members ahead of it.
    """

    position: int
    position_url: str


class RunConcurrencyGroup(TypedDict):
    group_name: str
    group_url: str
    group_members: list[PlacedConcurrencyMember]


class RunConcurrencyGroups(TypedDict):
    total_count: int
    concurrency_groups: list[RunConcurrencyGroup]


@ops("GET /repos/{owner}/{repo}/actions/concurrency_groups", READ, errors=(422,))
def list_concurrency_groups_for_repository(
    ctx: Context, repo: Row, page: OnwardPaging
) -> ConcurrencyGroups:
    """List concurrency groups for a repository

    The active groups, which are held or waited for, sorted by name.
    """
    rows = concurrency.active(ctx.db, repo["id"], limit=page.wanted, after=page.after)
    return {
        "total_count": concurrency.count_active(ctx.db, repo["id"]),
        "concurrency_groups": [_item(ctx.urls, repo, row) for row in page.cut(rows)],
    }


@ops(
    "GET /repos/{owner}/{repo}/actions/concurrency_groups/{concurrency_group_name}",
    READ,
    errors=(422,),
)
def get_concurrency_group_for_repository(
    ctx: Context, repo: Row, concurrency_group_name: Row, query: AheadFilter
) -> ConcurrencyGroup:
    """Get a concurrency group for a repository

    All members that hold it or wait for it, in order; or those ahead of a run or job, followed by
    the run or job itself. A run is a member itself or through a reusable workflow that it calls,
    but not through its jobs. A job is a member itself or through a reusable workflow that it is
    part of. 404 if the group is not active, 422 if the run or job is not in it.
    """
    group = concurrency_group_name
    rows = _asked(ctx, group, query)
    return {
        "group_name": group["name"],
        "group_url": ctx.urls.concurrency_group(repo, group["name"]),
        "total_count": len(rows),
        "group_members": [_member(ctx.urls, repo, row) for row in rows],
    }


@ops("GET /repos/{owner}/{repo}/actions/runs/{run_id}/concurrency_groups", READ, errors=(422,))
def list_concurrency_groups_for_workflow_run(
    ctx: Context, repo: Row, run: Row, page: AroundPaging
) -> RunConcurrencyGroups:
    """List concurrency groups for a workflow run

    The groups that the run's configuration names, sorted by name, each with the run's members that
    hold it or wait for it (possibly none). A page `after` a cursor links forward only. The page
    `before` the cursor of a `next` link is the page that had this link.
    """
    rows = page.cut(
        concurrency.of_run(
            ctx.db, run["id"], limit=page.wanted, before=page.before, after=page.after
        )
    )
    members = concurrency.own_members(ctx.db, run["id"], [row["id"] for row in rows])
    return {
        "total_count": run["groups_named"],
        "concurrency_groups": [
            _of_run(ctx.urls, repo, row, members.get(row["id"], [])) for row in rows
        ],
    }


def _asked(ctx: Context, group: Row, query: AheadFilter) -> list[Row]:
    if len(query) == 2:
        raise Rejected(
            "Invalid request.\n\nOnly one of ahead_of_run and ahead_of_job can be given."
        )
    if "ahead_of_run" in query:
        found = concurrency.ahead_of_run(ctx.db, group, query["ahead_of_run"])
    elif "ahead_of_job" in query:
        found = concurrency.ahead_of_job(ctx.db, group, query["ahead_of_job"])
    else:
        return concurrency.members(ctx.db, group["id"])
    if found is None:
        (field,) = query
        raise Invalid(
            "the run or job is not in this concurrency group",
            field=field,
            resource="ConcurrencyGroup",
        )
    return found


def _item(urls: Urls, repo: Row, row: Row) -> ConcurrencyGroupItem:
    return {
        "group_name": row["name"],
        "group_url": urls.concurrency_group(repo, row["name"]),
        "last_acquired_at": time(row["last_acquired_at"]),
    }


def _member(urls: Urls, repo: Row, row: Row) -> ConcurrencyMember:
    run = f"actions/runs/{row['run_number']}"
    found: ConcurrencyMember = {
        "run_id": row["run_number"],
        "run_name": row["run_name"],
        "run_url": f"{urls.repository(repo)}/{run}",
        "run_html_url": f"{urls.page(repo)}/{run}",
        "status": "pending" if row["waiting"] else "in_progress",
    }
    if row["job_id"] is not None:
        found |= {
            "job_id": row["job_number"],
            "job_name": row["job_name"],
            "job_url": f"{urls.repository(repo)}/actions/jobs/{row['job_number']}",
            "job_html_url": f"{urls.page(repo)}/{run}/job/{row['job_number']}",
        }
    return found


def _of_run(urls: Urls, repo: Row, group: Row, members: list[Row]) -> RunConcurrencyGroup:
    url = urls.concurrency_group(repo, group["name"])
    return {
        "group_name": group["name"],
        "group_url": url,
        "group_members": [_placed(urls, repo, url, row) for row in members],
    }


def _placed(urls: Urls, repo: Row, url: str, row: Row) -> PlacedConcurrencyMember:
    of_run = row["job_id"] is None
    who = f"ahead_of_run={row['run_number']}" if of_run else f"ahead_of_job={row['job_number']}"
    return {
        **_member(urls, repo, row),
        "position": row["position"],
        "position_url": f"{url}?{who}",
    }
