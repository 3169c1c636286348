"""The section `check_runs`."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hub.cli.console.options import app, repository_named
from hub.cli.state.base import FullName, Moment, StateEntry, microseconds
from hub.cli.state.changes import Outcome, StateChange, combined
from hub.cli.state.parts import Sha
from store import Connection, Row
from store.checks import check_annotations, check_runs, check_suites
from store.errors import Conflict
from store.repositories import refs

Text = Annotated[str, Field(max_length=65_535, pattern="^[^\0]*$")]
Line = Annotated[int, Field(ge=0, lt=2**31)]
Short = Annotated[str, Field(max_length=1_024, pattern="^[^\0]*$")]
Url = Annotated[str, Field(max_length=2_048, pattern="^https?://[^\0]+$")]


class AnnotationEntry(StateEntry):
    """An annotation of lines in a file."""

    path: Annotated[str, Field(min_length=1, max_length=4_096, pattern="^[^\0]*$")]
    start_line: Line
    end_line: Line
    start_column: Line | None = None
    end_column: Line | None = None
    annotation_level: Literal["notice", "warning", "failure"]
    message: Text
    title: Annotated[str, Field(max_length=255, pattern="^[^\0]*$")] | None = None
    raw_details: Text | None = None

    def row(self) -> Row:
        """Return the annotation's columns."""
        found = self.model_dump()
        found["level"] = found.pop("annotation_level")
        return found


class ImageEntry(StateEntry):
    """An image in a check run's output."""

    alt: Short
    image_url: Url
    caption: Short | None = None


class OutputEntry(StateEntry):
    """The output of a check run. `annotations` replace all annotations of the run."""

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


class CheckRunEntry(StateEntry):
    """A check run: the newest one of its repository, commit, app and name. If it has a conclusion,
    it is completed.
    """

    repository: FullName
    commit: Sha
    app: str
    name: str = Field(min_length=1, max_length=255, pattern="^[^\0]*$")
    status: Literal["queued", "in_progress", "completed"] = "queued"
    conclusion: (
        Literal[
            "action_required",
            "cancelled",
            "failure",
            "neutral",
            "success",
            "skipped",
            "timed_out",
        ]
        | None
    ) = None
    external_id: Short | None = None
    details_url: Url | None = None
    started_at: Moment | None = None
    completed_at: Moment | None = None
    output: OutputEntry = Field(default_factory=OutputEntry)
    actions: list[ActionEntry] = Field(default_factory=list, max_length=3)

    @property
    def known_by(self) -> tuple[str, str] | None:
        names = (self.repository.lower(), self.commit, self.app.lower(), self.name)
        return "check run", " ".join(names)

    @model_validator(mode="after")
    def _completed(self) -> Self:
        concluded = self.conclusion is not None
        if (self.status == "completed") > concluded:
            raise ValueError("a completed check run needs a conclusion")
        if concluded and self.given("status").get("status", "completed") != "completed":
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
        return found | self._standing()

    def _standing(self) -> Row:
        times = self.given("started_at", "completed_at").items()
        found: Row = {name: microseconds(time) for name, time in times if time is not None}
        if self.conclusion is not None:
            return {**found, "status": "completed", "conclusion": self.conclusion}
        if self.given("status"):
            return {**found, "status": self.status, "conclusion": None, "completed_at": None}
        return found


def check_run(db: Connection, wanted: CheckRunEntry) -> StateChange:
    """Create or update a check run. Raises Missing for an unknown repository or app.

    Raises Conflict if the app is not an integration, because only integrations have check runs.
    """
    repo = repository_named(db, wanted.repository)
    holder = app(db, wanted.app)
    if holder["kind"] != "integration":
        raise Conflict(f"the app {wanted.app!r} is no integration: it makes no check runs")
    branch = refs.branch_at(db, repo["id"], wanted.commit)
    suite, _ = check_suites.of_app(db, repo["id"], wanted.commit, holder["id"], branch)
    before = check_runs.newest(db, suite["id"], wanted.name)
    run, outcome = (
        _made(db, suite, holder, wanted)
        if before is None
        else _changed(db, before, wanted.fields())
    )
    annotated = _annotate(db, run, wanted.output)
    check_suites.roll_up(db, suite["id"])
    name = f"{repo['full_name']} {wanted.commit[:7]} {holder['name']} {wanted.name}"
    return StateChange("check run", name, combined(outcome, annotated))


def _made(db: Connection, suite: Row, holder: Row, wanted: CheckRunEntry) -> tuple[Row, Outcome]:
    fields = {
        "name": wanted.name,
        "status": "queued",
        "details_url": holder["url"],
        "started_at": db.now,
        **wanted.fields(),
    }
    if wanted.conclusion is not None:
        fields.setdefault("completed_at", db.now)
    return check_runs.create(db, suite, fields), "created"


def _changed(db: Connection, before: Row, fields: Row) -> tuple[Row, Outcome]:
    if fields.items() <= before.items():
        return before, "unchanged"
    if "conclusion" in fields and before["completed_at"] is None:
        fields.setdefault("completed_at", db.now)
    return check_runs.update(db, before, fields), "updated"


def _annotate(db: Connection, run: Row, output: OutputEntry) -> bool:
    if "annotations" not in output.model_fields_set:
        return False
    rows = [each.row() for each in output.annotations]
    return check_annotations.replace(db, run["id"], rows)
