"""The section `workflow_runs`, with jobs and concurrency groups."""

from typing import Annotated, Any, Literal

from pydantic import Field

from hub.cli.state.base import Moment, RepositoryPart, StateEntry, characters
from hub.cli.state.payloads import payload_of
from store import Connection, Row
from store.projection import projection_table, workflow_projection
from store.workflows import concurrency, workflow_runs
from store.workflows.concurrency_members import MOST_NAME

Number = Annotated[int, Field(ge=1, lt=2**63)]
Group = Annotated[str, characters(1, MOST_NAME)]
Path = Annotated[str, characters(1, 1_000)]
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


class WorkflowRunEntry(RepositoryPart):
    """A workflow run, identified by its repository and `id`, which is its id on its platform."""

    identified_by = ("repository", "id")

    id: Number
    name: Annotated[str, characters(1, 255)]
    status: Status = "queued"
    attempt: Annotated[int, Field(ge=1, lt=2**31)] = 1
    created_at: Moment | None = None
    concurrency: RunConcurrencyEntry = Field(default_factory=RunConcurrencyEntry)
    jobs: list[JobEntry] = Field(default_factory=list, max_length=1_000)

    def find(self, db: Connection, parent: Row) -> Any:
        row = workflow_runs.get(db, parent["id"], self.id)
        return None if row is None else (row, concurrency.of_whole_run(db, row["id"]))

    def write(self, db: Connection, parent: Row, before: object) -> None:
        """Create or update the run with its jobs."""
        event = projection_table.projected_events(db)
        run = payload_of(db, self, but=["jobs"], names={"attempt": "run_attempt"})
        workflow_projection.project_run(db, parent, {"workflow_run": run}, event)
        stored = workflow_runs.get(db, parent["id"], self.id)
        assert stored is not None, "it was put there"
        attempt = self.given_or("attempt", stored["attempt"])
        of_run = {"run_id": self.id, "run_attempt": attempt}
        for job in self.jobs:
            payload = {"workflow_job": payload_of(db, job) | of_run}
            workflow_projection.project_job(db, parent, payload, event)
