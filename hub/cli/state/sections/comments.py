"""The sections `issue_comments` and `commit_comments`."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from hub.cli.state.base import Moment, PlatformId, RepositoryPart, Sha, characters
from hub.cli.state.payloads import authored_payload, payload_of
from hub.cli.state.sections.issue_events import OnIssueEntry, issue_row
from hub.cli.state.sections.issues import Text
from store import Connection, Row
from store.issues import commit_comments, issue_comments
from store.projection import issue_comment_projection, projection_table
from store.repositories.markdown import RenderedText

Line = Annotated[int, Field(ge=0, lt=2**31)]


class IssueCommentEntry(OnIssueEntry):
    """A comment on an issue: a plain `comment`, a `review`, or a comment on a `line`. It is
    identified by its repository, its kind, and `id`, which is its id on its platform.
    """

    identified_by = ("repository", "kind", "id")

    kind: Literal["comment", "review", "line"] = "comment"
    id: PlatformId
    author: str
    body: Text | None = None
    created_at: Moment
    state: Literal["approved", "changes_requested", "commented", "dismissed"] | None = None
    commit: Sha | None = None
    path: str | None = Field(None, max_length=4_096)
    line: int | None = Field(None, ge=0, lt=2**31)
    pinned: bool = False

    def name_in(self, db: Connection, parent: Row) -> str:
        return f"{parent['full_name']}#{self.issue} {self.kind} {self.id}"

    def find(self, db: Connection, parent: Row) -> Row | None:
        return issue_comments.find(db, parent["id"], self.kind, self.id)

    def write(self, db: Connection, parent: Row, before: object) -> None:
        """Create or update the comment. Raises Missing for an unknown issue or account."""
        row = issue_row(db, parent, self.issue)
        payload = authored_payload(db, parent, self.payload(db), before)
        said = issue_comment_projection.put_comment(
            db, parent, row, self.kind, payload, projection_table.projected_events(db)
        )
        assert said is not None, "it has an id"
        if "pinned" in self.model_fields_set and self.pinned != (said["pinned_at"] is not None):
            issue_comments.pin(db, said, said["author_id"], db.now if self.pinned else None)

    def payload(self, db: Connection) -> dict[str, Any]:
        """Return the comment as in a platform's payload."""
        names = {"author": "user", "commit": "commit_id"}
        if self.kind == "review":
            names["created_at"] = "submitted_at"
        absent = ["commit"] if self.commit is None else []
        but = ["issue", "kind", "pinned", *absent]
        return payload_of(db, self, but=but, people=["author"], names=names)


class CommitCommentEntry(RepositoryPart):
    """A commit comment, identified by its repository and `id`, which is its id on its platform."""

    identified_by = ("repository", "id")

    id: PlatformId
    commit: Sha
    author: str
    body: Annotated[str, characters(1, commit_comments.MOST_BODY)]
    path: str | None = Field(None, max_length=commit_comments.MOST_PATH)
    position: Line | None = None
    line: Line | None = None
    created_at: Moment | None = None
    _rendered: RenderedText = PrivateAttr()

    @model_validator(mode="after")
    def _render(self) -> Self:
        # Rendering is slow, so it happens before the transaction: other writers would wait for it.
        self._rendered = RenderedText(self.body)
        return self

    def find(self, db: Connection, parent: Row) -> Row | None:
        return commit_comments.by_foreign_id(db, parent["id"], self.id)

    def write(self, db: Connection, parent: Row, before: object) -> None:
        names = {"author": "user", "commit": "commit_id"}
        payload = payload_of(db, self, people=["author"], names=names)
        payload = authored_payload(db, parent, payload, before)
        payload["rendered"] = self._rendered
        commit_comments.put(db, parent, payload, projection_table.projected_events(db))
