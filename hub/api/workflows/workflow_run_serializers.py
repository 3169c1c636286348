"""Serializer of workflow runs.

Members that no event has reported are null, or empty or 0 where clients expect a value.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, Self, cast

import orjson
from typing_extensions import TypedDict

from hub.api.checks import minimal_pulls
from hub.api.checks.check_serializers import SimpleCommit, head_commit
from hub.api.checks.minimal_pulls import PullRequestMinimal
from hub.api.repositories import stand_ins
from hub.rest.repository_serializers import MinimalRepository, repositories
from hub.rest.serializers import SimpleUser, node_id, simple_users, time
from hub.rest.urls import Urls
from store import Connection, Row
from store.clock import iso
from store.repositories import repositories as stored


class ReferencedWorkflow(TypedDict):
    path: str
    sha: str
    ref: NotRequired[str]


class WorkflowRun(TypedDict):
    """A workflow run. Members that no event has reported are null, empty or 0."""

    id: int
    name: str | None
    node_id: str
    check_suite_id: NotRequired[int]
    head_branch: str | None
    head_sha: str
    path: str
    run_number: int
    run_attempt: int
    referenced_workflows: list[ReferencedWorkflow]
    event: str
    status: str
    conclusion: str | None
    workflow_id: int
    url: str
    html_url: str
    pull_requests: list[PullRequestMinimal]
    created_at: str
    updated_at: str
    actor: NotRequired[SimpleUser]
    triggering_actor: NotRequired[SimpleUser]
    run_started_at: NotRequired[str]
    jobs_url: str
    logs_url: str
    check_suite_url: str
    artifacts_url: str
    cancel_url: str
    rerun_url: str
    previous_attempt_url: str | None
    workflow_url: str
    head_commit: SimpleCommit | None
    repository: MinimalRepository
    head_repository: MinimalRepository
    display_title: str


@dataclass(slots=True)
class RunRelations:
    """The accounts and repositories in a repository's runs."""

    repo: Row
    people: Mapping[int, SimpleUser]
    repositories: Mapping[str, MinimalRepository]
    """By present or former name in lower case: those that everybody with access to this one may
    see."""

    @classmethod
    def of(cls, urls: Urls, db: Connection, repo: Row, runs: Iterable[Row]) -> Self:
        """Load the relations, with as few statements for many runs as for one."""
        ids = {run["actor_id"] for run in runs}
        ids |= {run["details"].get("triggering_actor_id") for run in runs}
        names = {run["details"].get("head_repo") or repo["full_name"] for run in runs}
        heads = stored.find_heads(db, repo, {*names, repo["full_name"]})
        shown = repositories(urls, db, [*heads.values()])
        return cls(repo, simple_users(urls, db, ids), dict(zip(heads, shown, strict=True)))

    @property
    def repository(self) -> MinimalRepository:
        return self.repositories[self.repo["full_name"].lower()]

    def head_repository(self, urls: Urls, full_name: str | None) -> MinimalRepository:
        """Return the repository of a head. If no event has named it, it is the runs' own."""
        name = (full_name or self.repo["full_name"]).lower()
        if name in self.repositories:
            return self.repositories[name]
        fork = stand_ins.fork(urls, self.repo, {**self.repository})
        return cast("MinimalRepository", fork)


def workflow_runs(
    urls: Urls, db: Connection, repo: Row, rows: Sequence[Row], *, pulls: bool = True
) -> list[WorkflowRun]:
    """Serialize workflow runs of a repository. Without `pulls`, they name no pull requests."""
    runs = [row | {"details": orjson.loads(row["details"])} for row in rows]
    around = RunRelations.of(urls, db, repo, runs)
    return [_run(urls, run, around, pulls=pulls) for run in runs]


def _run(urls: Urls, run: Row, around: RunRelations, *, pulls: bool) -> WorkflowRun:
    repo, details = around.repo, run["details"]
    shown: WorkflowRun = {
        "id": run["number"],
        "name": run["name"] or None,
        "node_id": node_id("WorkflowRun", run["number"]),
        "head_branch": run["head_branch"],
        "head_sha": run["head_sha"] or "",
        "path": details.get("path", ""),
        "run_number": details.get("run_number", 0),
        "run_attempt": run["attempt"],
        "referenced_workflows": details.get("called") or [],
        "event": run["event"] or "",
        "status": run["status"],
        "conclusion": run["conclusion"],
        "workflow_id": run["workflow_number"],
        **_urls(urls, repo, run),  # type: ignore[typeddict-item]  # its names are not literals
        "pull_requests": _pulls(urls, repo, details) if pulls else [],
        "created_at": iso(run["created_at"]),
        "updated_at": iso(run["reported_at"] or run["created_at"]),
        "head_commit": head_commit(details.get("head_commit")),
        "repository": around.repository,
        "head_repository": around.head_repository(urls, details.get("head_repo")),
        "display_title": details.get("display_title") or run["name"] or "",
    }
    for name, value in _optional(run, around).items():
        if value is not None:
            shown[name] = value  # type: ignore[literal-required]  # as above
    return shown


def _optional(run: Row, around: RunRelations) -> dict[str, Any]:
    details = run["details"]
    return {
        "check_suite_id": run["suite_number"],
        "actor": around.people.get(run["actor_id"]),
        "triggering_actor": around.people.get(details.get("triggering_actor_id")),
        "run_started_at": time(details.get("run_started_at")),
    }


def _urls(urls: Urls, repo: Row, run: Row) -> dict[str, str | None]:
    url = urls.workflow_run(repo, run["number"])
    suite, workflow = run["suite_number"], run["workflow_number"]
    before = f"{url}/attempts/{run['attempt'] - 1}" if run["attempt"] > 1 else None
    return {
        "url": url,
        "html_url": f"{urls.page(repo)}/actions/runs/{run['number']}",
        "jobs_url": f"{url}/jobs",
        "logs_url": f"{url}/logs",
        "check_suite_url": "" if suite is None else urls.check_suite(repo, suite),
        "artifacts_url": f"{url}/artifacts",
        "cancel_url": f"{url}/cancel",
        "rerun_url": f"{url}/rerun",
        "previous_attempt_url": before,
        "workflow_url": urls.workflow(repo, workflow) if workflow else "",
    }


def _pulls(urls: Urls, repo: Row, details: Mapping[str, Any]) -> list[PullRequestMinimal]:
    return minimal_pulls.reported(urls, repo, details.get("pulls") or "[]")
