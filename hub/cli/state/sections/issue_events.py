"""The section `issue_events`, and the base of all entries that name an issue."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from hub.cli.console.lookups import account
from hub.cli.state.base import Moment, PlatformId, RepositoryPart, Sha, StateEntry
from hub.cli.state.changes import StateChange
from hub.cli.state.sections.issues import Number, Text, Title
from store import Connection, Row, clock
from store.errors import existing
from store.issues import issue_events, issues
from store.issues.issue_event_kinds import KINDS
from store.issues.issue_events import IssueEventData
from store.issues.issue_field_options import COLORS
from store.projection import issue_comment_projection

PEOPLE = ("assignee", "assigner", "review_requester", "requested_reviewer")
# Events that belong to comments and reviews, and cannot be loaded by themselves.
OF_COMMENTS = {*issue_comment_projection.STANDS.values(), "commit-commented"}
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
    review_id: PlatformId
    dismissal_message: Text | None = None


class IssueTypeEntry(StateEntry):
    """A type of issues."""

    id: PlatformId
    name: Title
    color: Literal[COLORS] | None = None  # type: ignore[valid-type]


class ReviewTeamEntry(StateEntry):
    """A team that was asked for a review."""

    id: PlatformId
    name: Title
    slug: Title
    description: Text | None = None
    privacy: Literal["closed", "secret"] = "closed"
    permission: str = Field("pull", max_length=50)


class ProjectCardEntry(StateEntry):
    """A card of a project."""

    id: PlatformId
    url: str = Field(max_length=2_048)
    project_id: PlatformId
    project_url: str = Field(max_length=2_048)
    column_name: Title
    previous_column_name: Title | None = None


class OnIssueEntry(RepositoryPart):
    """An entry for an issue or a pull request, with its number."""

    issue: Number


class IssueEventEntry(OnIssueEntry):
    """An event of an issue, identified by all its keys together. Loading the same event again adds
    nothing. `source` is the number of the issue that mentions this one.
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
    state_reason: issues.StateReason | None = None
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
        if self.event not in KINDS - OF_COMMENTS:
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

    def apply(self, db: Connection) -> StateChange:
        """Add the event to the issue. Raises Missing for an unknown issue or account."""
        repo = self.parent(db)
        row = issue_row(db, repo, self.issue)
        happening = IssueEventData(
            self.event,
            account(db, self.actor)["id"],
            clock.from_datetime(self.created_at),
            self.members(db),
            self.commit,
            None if self.source is None else issue_row(db, repo, self.source)["id"],
        )
        made = issue_events.add(db, row, [happening])
        return self.change(db, repo, "created" if made else "unchanged")

    def name_in(self, db: Connection, parent: Row) -> str:
        return f"{parent['full_name']}#{self.issue} {self.event}"


def issue_row(db: Connection, repo: Row, number: int) -> Row:
    """Return an issue of a repository. Raises Missing if there is none."""
    return existing(
        issues.get(db, repo["id"], number), f"there is no issue {number} in {repo['full_name']}"
    )
