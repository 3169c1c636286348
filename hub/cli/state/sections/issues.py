"""The sections `labels`, `milestones`, `issues` and `pull_requests`."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from hub.cli.console.options import account, repository_named
from hub.cli.state.base import FullName, Moment, StateEntry
from hub.cli.state.changes import StateChange, outcome_of
from hub.cli.state.parts import Sha
from store import Connection, Row
from store.clock import iso_micro
from store.errors import Missing
from store.issues import issues, labels, milestones, pulls
from store.projection import projection_table

Number = Annotated[int, Field(ge=1, lt=2**31)]
Text = Annotated[str, Field(max_length=issues.MOST_BODY, pattern="^[^\0]*$")]
Title = Annotated[str, Field(min_length=1, max_length=255, pattern="^[^\0]*$")]


class NumberedEntry(StateEntry):
    """An entry that is identified by its repository and number."""

    repository: FullName
    number: Number

    @property
    def place(self) -> str:
        """Return the repository and the number as one text."""
        return f"{self.repository.lower()} {self.number}"


class LabelEntry(StateEntry):
    """A label, identified by its repository and name."""

    repository: FullName
    name: Title
    color: str = Field("ededed", pattern="^[0-9a-fA-F]{6}$")
    description: Text | None = None
    default: bool = False

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "label", f"{self.repository.lower()} {self.name.lower()}"


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

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "milestone", self.place


class MovedEntry(StateEntry):
    """The place to which an issue was transferred."""

    repository: FullName
    number: Number


class IssueEntry(NumberedEntry):
    """An issue, identified by its repository and number. Its labels, and the milestone with the
    number `milestone`, must exist.
    """

    title: Title
    body: Text | None = None
    state: Literal["open", "closed"] = "open"
    state_reason: Literal["completed", "reopened", "not_planned", "duplicate"] | None = None
    author: str | None = None
    assignees: list[str] = Field(default_factory=list, max_length=100)
    labels: list[str] = Field(default_factory=list, max_length=100)
    milestone: Number | None = None
    locked: bool = False
    lock_reason: str | None = Field(None, max_length=100)
    comments: int = Field(0, ge=0, lt=2**31)
    created_at: Moment | None = None
    closed_at: Moment | None = None
    deleted: bool = False
    moved_to: MovedEntry | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "issue or pull request", self.place


class EndEntry(StateEntry):
    """A branch of a pull request and its commit. `repository` is needed if it is another
    repository.
    """

    ref: str = Field(min_length=1, max_length=255)
    sha: Sha
    repository: FullName | None = None


class PullRequestEntry(IssueEntry):
    """A pull request: an issue that asks to merge `head` into `base`."""

    head: EndEntry
    base: EndEntry
    draft: bool = False
    merged_at: Moment | None = None
    merged_by: str | None = None


OF_LABEL = ("name", "color", "description", "default")
OF_MILESTONE = ("number", "title", "description", "state", "due_on", "created_at", "closed_at")
OF_ISSUE = (
    "number",
    "title",
    "body",
    "state",
    "state_reason",
    "locked",
    "comments",
    "created_at",
    "closed_at",
)
TIMES = ("due_on", "created_at", "closed_at", "merged_at")


def _payload(part: StateEntry, names: Iterable[str]) -> dict[str, Any]:
    """Return these fields of the document as in a platform's payload."""
    found = part.given(*names)
    for name in found.keys() & {*TIMES}:
        found[name] = None if found[name] is None else found[name].isoformat()
    return found


def label(db: Connection, wanted: LabelEntry) -> StateChange:
    """Create or update a label."""
    repo = repository_named(db, wanted.repository)
    before = labels.by_name(db, repo["id"], wanted.name)
    labels.put(db, repo, _payload(wanted, OF_LABEL), projection_table.projected_events(db))
    after = labels.by_name(db, repo["id"], wanted.name)
    return StateChange("label", f"{repo['full_name']} {wanted.name}", outcome_of(before, after))


def milestone(db: Connection, wanted: MilestoneEntry) -> StateChange:
    """Create or update a milestone."""
    repo = repository_named(db, wanted.repository)
    payload = _payload(wanted, OF_MILESTONE)
    if wanted.creator is not None:
        payload["creator"] = {"login": account(db, wanted.creator)["login"]}
    before = milestones.get(db, repo["id"], wanted.number)
    milestones.put(db, repo, _closed(db, payload, before), projection_table.projected_events(db))
    after = milestones.get(db, repo["id"], wanted.number)
    return StateChange(
        "milestone", f"{repo['full_name']} {wanted.number}", outcome_of(before, after)
    )


def issue(db: Connection, wanted: IssueEntry) -> StateChange:
    """Create or update an issue. Raises Missing for an unknown label or milestone."""
    repo = repository_named(db, wanted.repository)
    before = _shown(db, repo["id"], wanted.number)
    payload = _closed(db, _issue(db, repo, wanted), before and before["issue"])
    issues.put(db, repo, payload, projection_table.projected_events(db))
    _gone(db, repo, wanted)
    after = _shown(db, repo["id"], wanted.number)
    return StateChange("issue", f"{repo['full_name']}#{wanted.number}", outcome_of(before, after))


def pull_request(db: Connection, wanted: PullRequestEntry) -> StateChange:
    """Create or update a pull request. Raises Missing for an unknown label or milestone."""
    repo = repository_named(db, wanted.repository)
    before = _shown(db, repo["id"], wanted.number)
    payload = _closed(db, _issue(db, repo, wanted), before and before["issue"])
    payload |= _payload(wanted, ("draft", "merged_at"))
    for name in ("head", "base"):
        end: EndEntry = getattr(wanted, name)
        source = {"full_name": end.repository or repo["full_name"]}
        payload[name] = {"ref": end.ref, "sha": end.sha, "repo": source}
    if wanted.merged_by is not None:
        payload["merged_by"] = {"login": account(db, wanted.merged_by)["login"]}
    pulls.put(db, repo, payload, projection_table.projected_events(db))
    after = _shown(db, repo["id"], wanted.number)
    return StateChange(
        "pull request", f"{repo['full_name']}#{wanted.number}", outcome_of(before, after)
    )


def recount(db: Connection, wanted: Iterable[IssueEntry]) -> None:
    """Count the issues of the milestones. Call it when all issues are stored."""
    for name in {each.repository for each in wanted}:
        milestones.recount(db, repository_named(db, name)["id"])


def _closed(db: Connection, payload: dict[str, Any], before: Row | None) -> dict[str, Any]:
    """Set `closed_at` to now if the thing is newly closed and the document does not say when."""
    if payload.get("state") == "closed" and (before is None or before["state"] == "open"):
        payload.setdefault("closed_at", iso_micro(db.now))
    return payload


def _issue(db: Connection, repo: Row, wanted: IssueEntry) -> dict[str, Any]:
    payload = _payload(wanted, OF_ISSUE)
    if wanted.author is not None:
        payload["user"] = {"login": account(db, wanted.author)["login"]}
    if "lock_reason" in wanted.model_fields_set:
        payload["active_lock_reason"] = wanted.lock_reason
    if "assignees" in wanted.model_fields_set:
        payload["assignees"] = [
            {"login": account(db, login)["login"]} for login in wanted.assignees
        ]
    if "labels" in wanted.model_fields_set:
        payload["labels"] = [{"name": _label(db, repo, name)["name"]} for name in wanted.labels]
    if "milestone" in wanted.model_fields_set:
        payload["milestone"] = _milestone(db, repo, wanted.milestone)
    return payload


def _gone(db: Connection, repo: Row, wanted: IssueEntry) -> None:
    row = issues.get(db, repo["id"], wanted.number)
    assert row is not None, "it was put there"
    if wanted.deleted:
        issues.delete(db, row)
    if wanted.moved_to is not None:
        issues.move(db, row, wanted.moved_to.repository, wanted.moved_to.number)


def _label(db: Connection, repo: Row, name: str) -> Row:
    row = labels.by_name(db, repo["id"], name)
    if row is None:
        raise Missing(f"there is no label {name!r} in {repo['full_name']}")
    return row


def _milestone(db: Connection, repo: Row, number: int | None) -> dict[str, Any] | None:
    if number is not None and milestones.get(db, repo["id"], number) is None:
        raise Missing(f"there is no milestone {number} in {repo['full_name']}")
    return None if number is None else {"number": number}


def _shown(db: Connection, repo_id: int, number: int) -> Row | None:
    row = issues.get(db, repo_id, number)
    if row is None:
        return None
    ids = [row["id"]]
    around = (labels.of_issues(db, ids), issues.assignees(db, ids), pulls.of_issues(db, ids))
    return {"issue": row, "around": around}
