"""Workflow runs, their jobs and concurrency groups in a state document."""

from typing import Annotated, Any, Literal

from pydantic import Field

from hub.cli.changes import Change, outcome_of
from hub.cli.options import repository_named
from hub.cli.part import FullName, Moment, Part
from store import Connection, concurrency, reflecting, workflow_events, workflow_runs
from store.concurrency_members import MOST_NAME

Number = Annotated[int, Field(ge=1, lt=2**63)]
Group = Annotated[str, Field(min_length=1, max_length=MOST_NAME, pattern="^[^\0]*$")]
Path = Annotated[str, Field(min_length=1, max_length=1_000, pattern="^[^\0]*$")]
Status = Literal["queued", "in_progress", "completed", "requested", "waiting", "pending"]


class Standing(Part):
    """How something stands to its group. Without `status` it holds the group once it is in
    progress. The times count where it comes to wait or to hold: who waits keeps its place.
    """

    group: Group | None = None
    status: Literal["pending", "in_progress", "released"] | None = None
    queued_at: Moment | None = None
    acquired_at: Moment | None = None


class Called(Standing):
    """A reusable workflow that a run calls; `path` is that of the job that calls it."""

    path: Path


class RunConcurrency(Standing):
    """`configured` are the groups that the configuration names beside those that are entered."""

    configured: list[Group] = Field(default_factory=list, max_length=1_000)
    reusable: list[Called] = Field(default_factory=list, max_length=100)


class JobConcurrency(Standing):
    path: Path | None = None


class Job(Part):
    id: Number
    name: Path
    status: Status = "queued"
    concurrency: JobConcurrency = Field(default_factory=JobConcurrency)


class WorkflowRun(Part):
    """Known again by its repository and `id`, which is that of the place it comes from."""

    repository: FullName
    id: Number
    name: Annotated[str, Field(min_length=1, max_length=255, pattern="^[^\0]*$")]
    status: Status = "queued"
    attempt: Annotated[int, Field(ge=1, lt=2**31)] = 1
    created_at: Moment | None = None
    concurrency: RunConcurrency = Field(default_factory=RunConcurrency)
    jobs: list[Job] = Field(default_factory=list, max_length=1_000)

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "workflow run", f"{self.repository.lower()} {self.id}"


def workflow_run(db: Connection, wanted: WorkflowRun) -> Change:
    """Make a run, or change it, with its jobs. Missing for a repository that there is not."""
    repo = repository_named(db, wanted.repository)
    before = _seen(db, repo["id"], wanted.id)
    event = reflecting.stated(db)
    told = _told(wanted, but={"repository", "attempt", "jobs"})
    told |= {"run_attempt": wanted.attempt}
    workflow_events.run_told(db, repo, {"workflow_run": told}, event)
    for job in wanted.jobs:
        told = {**_told(job), "run_id": wanted.id, "run_attempt": wanted.attempt}
        workflow_events.job_told(db, repo, {"workflow_job": told}, event)
    after = _seen(db, repo["id"], wanted.id)
    return Change("workflow run", f"{repo['full_name']} {wanted.id}", outcome_of(before, after))


def _told(part: Part, but: set[str] | None = None) -> dict[str, Any]:
    """As a platform would tell of it."""
    return part.model_dump(mode="json", exclude_unset=True, exclude=but)


def _seen(db: Connection, repo_id: int, number: int) -> Any:
    row = workflow_runs.get(db, repo_id, number)
    return None if row is None else (row, concurrency.of_whole_run(db, row["id"]))
