"""The section `commit_comments`."""

from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr, model_validator

from hub.cli.console.options import account, repository_named
from hub.cli.state.base import FullName, Moment, StateEntry
from hub.cli.state.changes import StateChange, outcome_of
from store import Connection
from store.issues import commit_comments
from store.projection import projection_table
from store.repositories import refs
from store.repositories.markdown import Rendered

Line = Annotated[int, Field(ge=0, lt=2**31)]


class CommitCommentEntry(StateEntry):
    """A commit comment, identified by its repository and `id`, which is its id on its platform."""

    repository: FullName
    id: int = Field(ge=0, lt=2**63)
    commit: str = Field(pattern=f"^({refs.SHA.pattern})$")
    author: str
    body: str = Field(min_length=1, max_length=commit_comments.MOST_BODY, pattern="^[^\0]*$")
    path: str | None = Field(None, max_length=commit_comments.MOST_PATH)
    position: Line | None = None
    line: Line | None = None
    created_at: Moment | None = None
    _rendered: Rendered = PrivateAttr()

    @model_validator(mode="after")
    def _render(self) -> Self:
        # Rendered here, because it is slow and within the transaction others would wait.
        self._rendered = Rendered(self.body)
        return self

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "commit comment", f"{self.repository.lower()} {self.id}"

    def payload(self) -> dict[str, Any]:
        """Return the comment as in a platform's payload."""
        found = {
            **self.given("id", "body", "path", "position", "line"),
            "commit_id": self.commit,
            "user": {"login": self.author},
            "rendered": self._rendered,
        }
        if self.created_at is not None:
            found["created_at"] = self.created_at.isoformat()
        return found


def commit_comment(db: Connection, wanted: CommitCommentEntry) -> StateChange:
    """Create or update a comment. Raises Missing for an unknown account or repository."""
    repo = repository_named(db, wanted.repository)
    account(db, wanted.author)
    before = commit_comments.by_foreign_id(db, repo["id"], wanted.id)
    commit_comments.put(db, repo, wanted.payload(), projection_table.projected_events(db))
    after = commit_comments.by_foreign_id(db, repo["id"], wanted.id)
    name = f"{repo['full_name']} {wanted.id}"
    return StateChange("commit comment", name, outcome_of(before, after))
