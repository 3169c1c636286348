"""Serializers of check runs and check suites."""

from collections.abc import Mapping, Sequence
from typing import Literal

import orjson
from typing_extensions import TypedDict

from hub.api.checks import minimal_pulls
from hub.api.checks.integration_serializers import Integration, integrations
from hub.api.checks.minimal_pulls import PullRequestMinimal
from hub.rest.repository_serializers import MinimalRepository, repository
from hub.rest.serializers import node_id, time
from hub.rest.urls import Urls
from store import Connection, Row
from store.checks import check_counts, described_commits
from store.clock import iso

Status = Literal["queued", "in_progress", "completed", "waiting", "requested", "pending"]
Conclusion = Literal[
    "success",
    "failure",
    "neutral",
    "cancelled",
    "skipped",
    "timed_out",
    "action_required",
    "stale",
]
"""Conclusions of check runs. Only platforms set `stale`, for runs that they gave up."""


class CheckRunImage(TypedDict):
    alt: str
    image_url: str
    caption: str | None


class CheckRunOutput(TypedDict):
    title: str | None
    summary: str | None
    text: str | None
    annotations_count: int
    annotations_url: str
    images: list[CheckRunImage]


class CheckRunAction(TypedDict):
    label: str
    description: str
    identifier: str


class CheckSuiteId(TypedDict):
    id: int


class CheckRun(TypedDict):
    """A check run. `pull_requests` are the open ones with this commit as their head.

    Only pull requests from branches of the repository itself are included, not from forks.
    """

    id: int
    head_sha: str
    node_id: str
    external_id: str
    url: str
    html_url: str
    details_url: str | None
    status: Status
    conclusion: Conclusion | None
    started_at: str | None
    completed_at: str | None
    output: CheckRunOutput
    name: str
    check_suite: CheckSuiteId
    app: Integration | None
    pull_requests: list[PullRequestMinimal]
    actions: list[CheckRunAction]


class HeadCommitPerson(TypedDict):
    name: str
    email: str


class SimpleCommit(TypedDict):
    id: str
    tree_id: str
    message: str
    timestamp: str
    author: HeadCommitPerson | None
    committer: HeadCommitPerson | None


class CheckSuite(TypedDict):
    """A check suite.

    If no event has described the commit, `head_commit` has only its id.
    """

    id: int
    node_id: str
    head_branch: str | None
    head_sha: str
    status: Status
    conclusion: str | None
    url: str
    before: str | None
    after: str | None
    pull_requests: list[PullRequestMinimal]
    app: Integration | None
    created_at: str
    updated_at: str
    latest_check_runs_count: int
    check_runs_url: str
    head_commit: SimpleCommit


class WholeCheckSuite(CheckSuite):
    """A check suite with its repository.

    If no event has described the commit, `head_commit` has only its id.
    """

    repository: MinimalRepository


def check_runs(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[CheckRun]:
    """Serialize check runs of a repository, with as few statements for many as for one."""
    apps = integrations(urls, db, {row["suite_id"] for row in rows})
    heads = minimal_pulls.heads(db, repo, rows)
    return [
        _check_run(urls, repo, row, apps.get(row["suite_id"]), heads.get(row["head_sha"], []))
        for row in rows
    ]


def check_run(urls: Urls, db: Connection, repo: Row, row: Row) -> CheckRun:
    (shown,) = check_runs(urls, db, repo, [row])
    return shown


def _check_run(
    urls: Urls, repo: Row, row: Row, app: Integration | None, heads: list[Row]
) -> CheckRun:
    url = urls.check_run(repo, row["number"])
    return {
        "id": row["number"],
        "head_sha": row["head_sha"],
        "node_id": node_id("CheckRun", row["number"]),
        "external_id": row["external_id"] or "",
        "url": url,
        "html_url": f"{urls.page(repo)}/runs/{row['number']}",
        "details_url": row["details_url"],
        "status": row["status"],
        "conclusion": row["conclusion"],
        "started_at": time(row["started_at"]),
        "completed_at": time(row["completed_at"]),
        "output": {
            "title": row["title"],
            "summary": row["summary"],
            "text": row["content"],
            "annotations_count": row["annotations"],
            "annotations_url": f"{url}/annotations",
            "images": row["images"],
        },
        "name": row["name"],
        "check_suite": {"id": row["suite_number"]},
        "app": app,
        "pull_requests": minimal_pulls.of_row(urls, repo, row, heads),
        "actions": row["actions"],
    }


def event_suite(urls: Urls, db: Connection, repo: Row, row: Row) -> CheckSuite:
    return event_suites(urls, db, repo, [row])[row["id"]]


def event_suites(
    urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]
) -> dict[int, CheckSuite]:
    """Serialize check suites for events, by row id.

    Receivers read the author and the committer of `head_commit` without a check for null.
    """
    shown = check_suites(urls, db, repo, rows)
    for suite in shown.values():
        head = suite["head_commit"]
        head["author"] = head["author"] or {"name": "", "email": ""}
        head["committer"] = head["committer"] or {"name": "", "email": ""}
    return shown


def check_suites(
    urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]
) -> dict[int, CheckSuite]:
    """Serialize check suites of a repository, by row id. Many need as few statements as one."""
    ids = [row["id"] for row in rows]
    heads, apps = minimal_pulls.heads(db, repo, rows), integrations(urls, db, ids)
    runs = check_counts.newest(db, ids)
    described = described_commits.of(db, repo["id"], {row["head_sha"] for row in rows})
    known = [
        row
        | {"runs": runs.get(row["id"], 0)}
        | {"head_commit": row["head_commit"] or described.get(row["head_sha"])}
        for row in rows
    ]
    return {
        row["id"]: _check_suite(
            urls, repo, row, apps.get(row["id"]), heads.get(row["head_sha"], [])
        )
        for row in known
    }


def whole_check_suites(
    urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]
) -> list[WholeCheckSuite]:
    shown = check_suites(urls, db, repo, rows)
    within = repository(urls, db, repo)
    return [{**shown[row["id"]], "repository": within} for row in rows]


def head_commit(stored: str | None) -> SimpleCommit | None:
    """Serialize a commit from its stored form."""
    if stored is None:
        return None
    found = orjson.loads(stored)
    return {
        "id": found["id"],
        "tree_id": found["tree_id"],
        "message": found["message"],
        "timestamp": iso(found["timestamp"]),
        "author": _person(found["author"]),
        "committer": _person(found["committer"]),
    }


def _undescribed(row: Row) -> SimpleCommit:
    """Return the commit of a suite if only its id is known. Its time is the suite's."""
    return {
        "id": row["head_sha"],
        "tree_id": "",
        "message": "",
        "timestamp": iso(row["created_at"]),
        "author": None,
        "committer": None,
    }


def _person(given: Mapping[str, str] | None) -> HeadCommitPerson | None:
    return None if given is None else {"name": given["name"], "email": given["email"]}


def _check_suite(
    urls: Urls,
    repo: Row,
    row: Row,
    app: Integration | None,
    heads: list[Row],
) -> CheckSuite:
    url = urls.check_suite(repo, row["number"])
    return {
        "id": row["number"],
        "node_id": node_id("CheckSuite", row["number"]),
        "head_branch": row["head_branch"],
        "head_sha": row["head_sha"],
        "status": row["status"],
        "conclusion": row["conclusion"],
        "url": url,
        "before": row["before_sha"],
        "after": row["after_sha"],
        "pull_requests": minimal_pulls.of_row(urls, repo, row, heads),
        "app": app,
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
        "latest_check_runs_count": row["runs"],
        "check_runs_url": f"{url}/check-runs",
        "head_commit": head_commit(row["head_commit"]) or _undescribed(row),
    }
