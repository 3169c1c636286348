"""The section `workflow_runs`, with jobs and concurrency groups."""

from typing import Annotated, Any, Literal

from pydantic import Field

from hub.cli.console.options import repository_named
from hub.cli.state.base import FullName, Moment, StateEntry
from hub.cli.state.changes import StateChange, outcome_of
from store import Connection
from store.projection import projection_table, workflow_projection
from store.workflows import concurrency, workflow_runs
from store.workflows.concurrency_members import MOST_NAME

Number = Annotated[int, Field(ge=1, lt=2**63)]
Group = Annotated[str, Field(min_length=1, max_length=MOST_NAME, pattern="^[^\0]*$")]
Path = Annotated[str, Field(min_length=1, max_length=1_000, pattern="^[^\0]*$")]
Status = Literal["queued", "in_progress", "completed", "requested", "waiting", "pending"]


class StandingEntry(StateEntry):
    """The state of a run, workflow or job in its concurrency group. Without `status`, it holds the
    group while it is in progress. The times apply only when it starts to wait or to hold the group.
    """

    group: Group | None = None
    status: Literal["pending", "in_progress", "released"] | None = None
    queued_at: Moment | None = None
    acquired_at: Moment | None = None


class CalledEntry(StandingEntry):
    """A reusable workflow that a run calls. `path` is the path of the calling job."""

    path: Path


class RunConcurrencyEntry(StandingEntry):
    """The concurrency of a run. `configured` are groups of the configuration that the run is not
    in.
    """

    configured: list[Group] = Field(default_factory=list, max_length=1_000)
    reusable: list[CalledEntry] = Field(default_factory=list, max_length=100)


class JobConcurrencyEntry(StandingEntry):
    """The concurrency of a job."""

    path: Path | None = None


class JobEntry(StateEntry):
    """A job of a workflow run."""

    id: Number
    name: Path
    status: Status = "queued"
    concurrency: JobConcurrencyEntry = Field(default_factory=JobConcurrencyEntry)


class WorkflowRunEntry(StateEntry):
    """A workflow run, identified by its repository and `id`, which is its id on its platform."""

    repository: FullName
    id: Number
    name: Annotated[str, Field(min_length=1, max_length=255, pattern="^[^\0]*$")]
    status: Status = "queued"
    attempt: Annotated[int, Field(ge=1, lt=2**31)] = 1
    created_at: Moment | None = None
    concurrency: RunConcurrencyEntry = Field(default_factory=RunConcurrencyEntry)
    jobs: list[JobEntry] = Field(default_factory=list, max_length=1_000)

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "workflow run", f"{self.repository.lower()} {self.id}"


def workflow_run(db: Connection, wanted: WorkflowRunEntry) -> StateChange:
    """Create or update a run with its jobs. Raises Missing for an unknown repository."""
    repo = repository_named(db, wanted.repository)
    before = _seen(db, repo["id"], wanted.id)
    event = projection_table.projected_events(db)
    payload = _payload(wanted, but={"repository", "attempt", "jobs"})
    payload |= {"run_attempt": wanted.attempt}
    workflow_projection.project_run(db, repo, {"workflow_run": payload}, event)
    for job in wanted.jobs:
        payload = {**_payload(job), "run_id": wanted.id, "run_attempt": wanted.attempt}
        workflow_projection.project_job(db, repo, {"workflow_job": payload}, event)
    after = _seen(db, repo["id"], wanted.id)
    return StateChange(
        "workflow run", f"{repo['full_name']} {wanted.id}", outcome_of(before, after)
    )


def _payload(part: StateEntry, but: set[str] | None = None) -> dict[str, Any]:
    """Return the fields of the document as in a platform's payload."""
    return part.model_dump(mode="json", exclude_unset=True, exclude=but)


def _seen(db: Connection, repo_id: int, number: int) -> Any:
    row = workflow_runs.get(db, repo_id, number)
    return None if row is None else (row, concurrency.of_whole_run(db, row["id"]))
