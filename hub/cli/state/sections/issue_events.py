"""The sections `issue_events` and `issue_comments`."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from hub.cli.console.options import account, repository_named
from hub.cli.state.base import FullName, Moment, StateEntry
from hub.cli.state.changes import StateChange, outcome_of
from hub.cli.state.parts import Sha
from hub.cli.state.sections.issues import Number, Text, Title
from store import Connection, Row
from store.clock import SECOND
from store.errors import Missing
from store.issues import issue_comments, issue_events, issues
from store.issues.issue_event_kinds import KINDS
from store.issues.issue_events import IssueEventData
from store.issues.issue_field_options import COLORS
from store.projection import issue_comment_projection

PEOPLE = ("assignee", "assigner", "review_requester", "requested_reviewer")
# Events that belong to comments and reviews, and cannot be loaded by themselves.
SAID = {*issue_comment_projection.STANDS.values(), "commit-commented"}
# The fields that an event needs beside the common ones.
NEEDED: dict[str, tuple[str, ...]] = {
    "labeled": ("label",),
    "unlabeled": ("label",),
    "assigned": ("assignee", "assigner"),
    "unassigned": ("assignee", "assigner"),
    "milestoned": ("milestone",),
    "demilestoned": ("milestone",),
    "renamed": ("rename",),
    "review_requested": ("review_requester",),
    "review_request_removed": ("review_requester",),
    "review_dismissed": ("dismissed_review",),
    "issue_type_added": ("issue_type",),
    "issue_type_removed": ("issue_type",),
    "issue_type_changed": ("issue_type", "prev_issue_type"),
    "committed": ("commit", "message"),
    "cross-referenced": ("source",),
    "merged": ("commit",),
    "referenced": ("commit",),
    "head_ref_force_pushed": ("commit",),
}
# The fields that an event may have.
ASKED = ("requested_reviewer", "requested_team")
POSSIBLE: dict[str, tuple[str, ...]] = {
    "closed": ("state_reason", "commit"),
    "reopened": ("state_reason",),
    "locked": ("lock_reason",),
    "review_requested": ASKED,
    "review_request_removed": ASKED,
    "added_to_project": ("project_card",),
    "moved_columns_in_project": ("project_card",),
    "removed_from_project": ("project_card",),
    "converted_note_to_issue": ("project_card",),
}


class EventLabelEntry(StateEntry):
    """A label in an event."""

    name: Title
    color: str = Field("ededed", pattern="^[0-9a-fA-F]{6}$")


class RenameEntry(StateEntry):
    """The old and the new title of an issue."""

    before: Title = Field(alias="from")
    after: Title = Field(alias="to")


class DismissedReviewEntry(StateEntry):
    """A dismissed review."""

    state: str = Field(max_length=50)
    review_id: int = Field(ge=0, lt=2**63)
    dismissal_message: Text | None = None


class IssueTypeEntry(StateEntry):
    """A type of issues."""

    id: int = Field(ge=0, lt=2**63)
    name: Title
    color: Literal[COLORS] | None = None  # type: ignore[valid-type]


class ReviewTeamEntry(StateEntry):
    """A team that was asked for a review."""

    id: int = Field(ge=0, lt=2**63)
    name: Title
    slug: Title
    description: Text | None = None
    privacy: Literal["closed", "secret"] = "closed"
    permission: str = Field("pull", max_length=50)


class ProjectCardEntry(StateEntry):
    """A card of a project."""

    id: int = Field(ge=0, lt=2**63)
    url: str = Field(max_length=2_048)
    project_id: int = Field(ge=0, lt=2**63)
    project_url: str = Field(max_length=2_048)
    column_name: Title
    previous_column_name: Title | None = None


class OnIssueEntry(StateEntry):
    """An entry for an issue or a pull request, with its number."""

    repository: FullName
    issue: Number

    def found(self, db: Connection) -> tuple[Row, Row]:
        """Return the repository and the issue. Raises Missing if there is none."""
        repo = repository_named(db, self.repository)
        row = issues.get(db, repo["id"], self.issue)
        if row is None:
            raise Missing(f"there is no issue {self.issue} in {repo['full_name']}")
        return repo, row


class IssueEventEntry(OnIssueEntry):
    """An event of an issue. Loading the same event again adds nothing. `source` is the number of
    the issue that mentions this one.
    """

    event: str
    actor: str
    created_at: Moment
    commit: Sha | None = None
    label: EventLabelEntry | None = None
    assignee: str = ""
    assigner: str = ""
    milestone: Title | None = None
    rename: RenameEntry | None = None
    lock_reason: Title | None = None
    state_reason: Literal["completed", "reopened", "not_planned", "duplicate"] | None = None
    review_requester: str = ""
    requested_reviewer: str = ""
    requested_team: ReviewTeamEntry | None = None
    dismissed_review: DismissedReviewEntry | None = None
    issue_type: IssueTypeEntry | None = None
    prev_issue_type: IssueTypeEntry | None = None
    project_card: ProjectCardEntry | None = None
    message: Text | None = None
    source: Number | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.event not in KINDS - SAID:
            raise ValueError(f"{self.event!r} is not an event that can be loaded")
        needed = NEEDED.get(self.event, ())
        absent = [name for name in needed if not getattr(self, name)]
        if absent:
            raise ValueError(f"{self.event} needs: {', '.join(absent)}")
        strange = self._beyond() - {*needed, *POSSIBLE.get(self.event, ())}
        if strange:
            raise ValueError(f"{self.event} cannot have: {', '.join(sorted(strange))}")
        return self

    def _beyond(self) -> set[str]:
        return self.model_fields_set - {*OnIssueEntry.model_fields, "event", "actor", "created_at"}

    def members(self, db: Connection) -> dict[str, Any]:
        """Return the fields as the store keeps them. Raises Missing for an unknown account."""
        found: dict[str, Any] = {}
        for name in self._beyond() - {"commit", "source"}:
            value = getattr(self, name)
            found[name] = (
                value.model_dump(by_alias=True) if isinstance(value, StateEntry) else value
            )
        for name in found.keys() & {*PEOPLE}:
            found[name] = account(db, found[name])["id"]
        if self.milestone is not None:
            found["milestone"] = {"title": self.milestone}
        if self.event == "committed":
            found |= {"tree": None, "author": {"name": self.actor}, "committer": {}}
        return found


class IssueCommentEntry(OnIssueEntry):
    """A comment on an issue: a plain `comment`, a `review`, or a comment on a `line`. It is
    identified by its repository, its kind, and `id`, which is its id on its platform.
    """

    kind: Literal["comment", "review", "line"] = "comment"
    id: int = Field(ge=0, lt=2**63)
    author: str
    body: Text | None = None
    created_at: Moment
    state: Literal["approved", "changes_requested", "commented", "dismissed"] | None = None
    commit: Sha | None = None
    path: str | None = Field(None, max_length=4_096)
    line: int | None = Field(None, ge=0, lt=2**31)
    pinned: bool = False

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "issue comment", f"{self.repository.lower()} {self.kind} {self.id}"

    def payload(self) -> dict[str, Any]:
        """Return the comment as in a platform's payload."""
        at = "submitted_at" if self.kind == "review" else "created_at"
        found = self.given("id", "body", "state", "path", "line")
        found |= {"user": {"login": self.author}, at: self.created_at.isoformat()}
        return found if self.commit is None else {**found, "commit_id": self.commit}


def issue_event(db: Connection, wanted: IssueEventEntry) -> StateChange:
    """Add an event to an issue. Raises Missing for an unknown issue or account."""
    repo, row = wanted.found(db)
    source = None if wanted.source is None else issues.get(db, repo["id"], wanted.source)
    if wanted.source is not None and source is None:
        raise Missing(f"there is no issue {wanted.source} in {repo['full_name']}")
    happening = IssueEventData(
        wanted.event,
        account(db, wanted.actor)["id"],
        round(wanted.created_at.timestamp() * SECOND),
        wanted.members(db),
        wanted.commit,
        None if source is None else source["id"],
    )
    made = issue_events.add(db, row, [happening])
    name = f"{repo['full_name']}#{wanted.issue} {wanted.event}"
    return StateChange("issue event", name, "created" if made else "unchanged")


def issue_comment(db: Connection, wanted: IssueCommentEntry) -> StateChange:
    """Create or update a comment. Raises Missing for an unknown issue or account."""
    repo, row = wanted.found(db)
    account(db, wanted.author)
    before = issue_comments.find(db, repo["id"], wanted.kind, wanted.id)
    said = issue_comment_projection.put_comment(db, repo, row, wanted.kind, wanted.payload())
    assert said is not None, "it has an id"
    if "pinned" in wanted.model_fields_set and wanted.pinned != (said["pinned_at"] is not None):
        issue_comments.pin(db, said, said["author_id"], db.now if wanted.pinned else None)
    after = issue_comments.find(db, repo["id"], wanted.kind, wanted.id)
    name = f"{repo['full_name']}#{wanted.issue} {wanted.kind} {wanted.id}"
    return StateChange("issue comment", name, outcome_of(before, after))
