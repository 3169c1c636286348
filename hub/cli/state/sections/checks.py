"""The section `check_runs`."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hub.cli.console.lookups import app
from hub.cli.state.base import Moment, RepositoryPart, Sha, StateEntry, characters
from store import Connection, Row, clock
from store.checks import check_annotations, check_runs, check_suites
from store.errors import Conflict
from store.repositories import refs

Text = Annotated[str, characters(0, 65_535)]
Line = Annotated[int, Field(ge=0, lt=2**31)]
Short = Annotated[str, characters(0, 1_024)]
Conclusion = Literal[
    "action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"
]
Url = Annotated[str, Field(max_length=2_048, pattern="^https?://[^\0]+$")]


class AnnotationEntry(StateEntry):
    """An annotation of lines in a file."""

    path: Annotated[str, characters(1, 4_096)]
    start_line: Line
    end_line: Line
    start_column: Line | None = None
    end_column: Line | None = None
    annotation_level: Literal["notice", "warning", "failure"]
    message: Text
    title: Annotated[str, characters(0, 255)] | None = None
    raw_details: Text | None = None

    def row(self) -> Row:
        found = self.model_dump()
        found["level"] = found.pop("annotation_level")
        return found


class ImageEntry(StateEntry):
    """An image in a check run's output."""

    alt: Short
    image_url: Url
    caption: Short | None = None


class OutputEntry(StateEntry):
    """The output of a check run. `annotations` and `images` replace the present ones."""

    title: Short | None = None
    summary: Text | None = None
    text: Text | None = None
    annotations: list[AnnotationEntry] = Field(default_factory=list)
    images: list[ImageEntry] = Field(default_factory=list)


class ActionEntry(StateEntry):
    """An action that a check run offers to users."""

    label: str = Field(max_length=20)
    description: str = Field(max_length=40)
    identifier: str = Field(max_length=20)


class CheckRunEntry(RepositoryPart):
    """A check run: the newest one of its repository, commit, app and name. If it has a conclusion,
    it is completed. `actions` replace the present ones.
    """

    identified_by = ("repository", "commit", "app", "name")
    case_sensitive = ("name",)

    commit: Sha
    app: str
    name: Annotated[str, characters(1, 255)]
    status: Literal["queued", "in_progress", "completed"] = "queued"
    conclusion: Conclusion | None = None
    external_id: Short | None = None
    details_url: Url | None = None
    started_at: Moment | None = None
    completed_at: Moment | None = None
    output: OutputEntry = Field(default_factory=OutputEntry)
    actions: list[ActionEntry] = Field(default_factory=list, max_length=3)

    @model_validator(mode="after")
    def _completed(self) -> Self:
        concluded = self.conclusion is not None
        if (self.status == "completed") > concluded:
            raise ValueError("a completed check run needs a conclusion")
        if concluded and self.given_or("status", "completed") != "completed":
            raise ValueError("a check run with a conclusion is completed")
        return self

    def fields(self) -> Row:
        """Return the columns for the fields that the document has."""
        found = self.given("external_id", "details_url") | self.output.given("title", "summary")
        if "text" in self.output.model_fields_set:
            found["content"] = self.output.text
        if self.output.given("images"):
            found["images"] = [each.model_dump() for each in self.output.images]
        if self.given("actions"):
            found["actions"] = [each.model_dump() for each in self.actions]
        return found | self._status_columns()

    def _status_columns(self) -> Row:
        times = self.given("started_at", "completed_at").items()
        found: Row = {name: clock.from_datetime(time) for name, time in times if time is not None}
        if self.conclusion is not None:
            return {**found, "status": "completed", "conclusion": self.conclusion}
        if self.given("status"):
            return {**found, "status": self.status, "conclusion": None, "completed_at": None}
        return found

    def parent(self, db: Connection) -> Row:
        """Return the repository, with the app as `app` and its suite for the commit as `suite`.

        Raises Conflict if the app is not an integration: only integrations have check runs.
        """
        repo, holder = super().parent(db), app(db, self.app)
        if holder["kind"] != "integration":
            raise Conflict(f"the app {self.app!r} is no integration: it makes no check runs")
        branch = refs.branch_at(db, repo["id"], self.commit)
        suite, _ = check_suites.of_app(db, repo["id"], self.commit, holder["id"], branch)
        return {**repo, "app": holder, "suite": suite}

    def name_in(self, db: Connection, parent: Row) -> str:
        shown = {"commit": self.commit[:7], "app": parent["app"]["name"]}
        return self.identified(repository=parent["full_name"], **shown)

    def find(self, db: Connection, parent: Row) -> Row | None:
        return check_runs.newest(db, parent["suite"]["id"], self.name)

    def write(self, db: Connection, parent: Row, before: Row | None) -> bool:
        run = self._put(db, parent, before, self.fields())
        annotated = False
        if "annotations" in self.output.model_fields_set:
            rows = [each.row() for each in self.output.annotations]
            annotated = check_annotations.replace(db, run["id"], rows)
        check_suites.roll_up(db, parent["suite"]["id"])
        return annotated

    def _put(self, db: Connection, parent: Row, before: Row | None, fields: Row) -> Row:
        if before is not None and fields.items() <= before.items():
            return before
        if self.conclusion is not None and (before is None or before["completed_at"] is None):
            fields.setdefault("completed_at", db.now)
        if before is not None:
            return check_runs.update(db, before, fields)
        unsaid = {"status": "queued", "details_url": parent["app"]["url"], "started_at": db.now}
        return check_runs.create(db, parent["suite"], {"name": self.name, **unsaid, **fields})
