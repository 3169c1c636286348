"""The sections `labels`, `milestones`, `issues` and `pull_requests`."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hub.cli.console.lookups import repository_named
from hub.cli.state.base import FullName, Moment, RepositoryPart, Sha, StateEntry, characters
from hub.cli.state.payloads import authored_payload, payload_of
from store import Connection, Row
from store.clock import iso_micro
from store.errors import Missing, existing
from store.issues import issues, labels, milestones, pulls
from store.projection.projection_table import projected_events

Number = Annotated[int, Field(ge=1, lt=2**31)]
Text = Annotated[str, characters(0, issues.MOST_BODY)]
Title = Annotated[str, characters(1, 255)]


class NumberedEntry(RepositoryPart):
    """An entry that is identified by its repository and number."""

    identified_by = ("repository", "number")

    number: Number


class LabelEntry(RepositoryPart):
    """A label, identified by its repository and name."""

    identified_by = ("repository", "name")

    name: Title
    color: str = Field("ededed", pattern="^[0-9a-fA-F]{6}$")
    description: Text | None = None
    default: bool = False

    def find(self, db: Connection, parent: Row) -> Row | None:
        return labels.by_name(db, parent["id"], self.name)

    def write(self, db: Connection, parent: Row, before: object) -> None:
        labels.put(db, parent, payload_of(db, self), projected_events(db))


class MilestoneEntry(NumberedEntry):
    """A milestone, identified by its repository and number. Its issues are counted, unless a
    platform has sent the counts.
    """

    title: Title
    description: Text | None = None
    state: Literal["open", "closed"] = "open"
    creator: str | None = None
    due_on: Moment | None = None
    created_at: Moment | None = None
    closed_at: Moment | None = None

    def find(self, db: Connection, parent: Row) -> Row | None:
        return milestones.get(db, parent["id"], self.number)

    def write(self, db: Connection, parent: Row, before: Row | None) -> None:
        payload = _closed(db, payload_of(db, self, people=["creator"]), before)
        milestones.put(db, parent, payload, projected_events(db))


class DiscussedEntry(NumberedEntry):
    """An issue or a pull request: the keys that both have."""

    title: Title
    body: Text | None = None
    state: Literal["open", "closed"] = "open"
    state_reason: issues.StateReason | None = None
    author: str | None = None
    assignees: list[str] = Field(default_factory=list, max_length=100)
    labels: list[str] = Field(default_factory=list, max_length=100)
    milestone: Number | None = None
    locked: bool = False
    lock_reason: str | None = Field(None, max_length=100)
    comments: int = Field(0, ge=0, lt=2**31)
    created_at: Moment | None = None
    closed_at: Moment | None = None

    @property
    def known_by(self) -> tuple[str, str]:
        return "issue or pull request", str(self.identity)

    def name_in(self, db: Connection, parent: Row) -> str:
        return f"{parent['full_name']}#{self.number}"

    def find(self, db: Connection, parent: Row) -> Row | None:
        row = issues.get(db, parent["id"], self.number)
        if row is None:
            return None
        ids = [row["id"]]
        around = (labels.of_issues(db, ids), issues.assignees(db, ids), pulls.of_issues(db, ids))
        return {**row, "around": around}

    def payload(self, db: Connection, repo: Row, before: Row | None) -> dict[str, Any]:
        """Return the issue as in a platform's payload."""
        found = payload_of(
            db,
            self,
            but=("deleted", "moved_to"),
            people=("author", "assignees", "merged_by"),
            names={"author": "user", "lock_reason": "active_lock_reason"},
        )
        if "labels" in found:
            found["labels"] = [{"name": _label(db, repo, name)["name"]} for name in self.labels]
        if "milestone" in found:
            found["milestone"] = _milestone(db, repo, self.milestone)
        return authored_payload(db, repo, _closed(db, found, before), before)


class MovedEntry(StateEntry):
    """The place to which an issue was transferred."""

    repository: FullName
    number: Number


class IssueEntry(DiscussedEntry):
    """An issue, identified by its repository and number. Its labels, and the milestone with the
    number `milestone`, must exist. `assignees` and `labels` replace the present ones.
    """

    deleted: bool = False
    moved_to: MovedEntry | None = None

    def write(self, db: Connection, parent: Row, before: Row | None) -> None:
        """Create or update the issue. Raises Missing for an unknown label or milestone."""
        issues.put(db, parent, self.payload(db, parent, before), projected_events(db))
        row = issues.get(db, parent["id"], self.number)
        assert row is not None, "it was put there"
        if self.deleted:
            issues.delete(db, row)
        if self.moved_to is not None:
            issues.move(db, row, self.moved_to.repository, self.moved_to.number)


class BranchEntry(StateEntry):
    """A branch of a pull request, and its commit. A new pull request needs the `repository` of
    `head` if it is another one. `base` is always in the pull request's own repository.
    """

    ref: str = Field(min_length=1, max_length=255)
    sha: Sha
    repository: FullName | None = None


class PullRequestEntry(DiscussedEntry):
    """A pull request: an issue that asks to merge `head` into `base`. Unlike other issues, it
    cannot be deleted or moved.
    """

    head: BranchEntry
    base: BranchEntry
    draft: bool = False
    merged_at: Moment | None = None
    merged_by: str | None = None

    @model_validator(mode="after")
    def _check_base(self) -> "PullRequestEntry":
        named = self.base.repository or self.repository
        if named.lower() != self.repository.lower():
            raise ValueError("base.repository must be the pull request's own repository")
        return self

    def write(self, db: Connection, parent: Row, before: Row | None) -> None:
        """Create or update the pull request. Raises Missing for an unknown label or milestone."""
        ends = self.model_dump(include={"head": {"ref", "sha"}, "base": {"ref", "sha"}})
        if before is None or not before["is_pull"] or self.head.given("repository"):
            source = self.head.repository or parent["full_name"]
            ends["head"]["repo"] = {"full_name": source}
        payload = self.payload(db, parent, before) | ends
        pulls.put(db, parent, payload, projected_events(db))


def recount(db: Connection, wanted: Iterable[DiscussedEntry]) -> None:
    """Count the issues of all milestones in the entries' repositories.

    Call this after all issues are stored.
    """
    for name in {each.repository for each in wanted}:
        milestones.recount(db, repository_named(db, name)["id"])


def _closed(db: Connection, payload: dict[str, Any], before: Row | None) -> dict[str, Any]:
    """Set `closed_at` to now if the thing is newly closed and the document does not say when."""
    if payload.get("state") == "closed" and (before is None or before["state"] == "open"):
        payload.setdefault("closed_at", iso_micro(db.now))
    return payload


def _label(db: Connection, repo: Row, name: str) -> Row:
    return existing(
        labels.by_name(db, repo["id"], name), f"there is no label {name!r} in {repo['full_name']}"
    )


def _milestone(db: Connection, repo: Row, number: int | None) -> dict[str, Any] | None:
    if number is not None and milestones.get(db, repo["id"], number) is None:
        raise Missing(f"there is no milestone {number} in {repo['full_name']}")
    return None if number is None else {"number": number}
