"""The section `commit_statuses`."""

from typing import Annotated, Literal

from pydantic import Field

from hub.cli.console import lookups
from hub.cli.state.base import RepositoryPart, Sha, characters
from store import Connection, Row
from store.checks import commit_statuses


class CommitStatusEntry(RepositoryPart):
    """The status of a commit in a context, by default in `default`. If a key of the entry differs
    from the newest status there, a new one is added. It has only the keys of the entry.
    """

    identified_by = ("repository", "commit", "context")

    commit: Sha
    context: Annotated[str, characters(1, 255)] = "default"
    state: Literal["error", "failure", "pending", "success"]
    description: Annotated[str, characters(0, 1_000)] | None = None
    target_url: Annotated[str, Field(max_length=2_048, pattern="^https?://[^\0]*$")] | None = None
    creator: str

    def find(self, db: Connection, parent: Row) -> Row | None:
        return commit_statuses.newest(db, parent["id"], self.commit, self.context)

    def write(self, db: Connection, parent: Row, before: Row | None) -> None:
        """Add the status, unless the newest one has all its keys.

        Raises Missing for an unknown creator.
        """
        creator = lookups.account(db, self.creator)
        fields = self.given("state", "description", "target_url")
        wanted = {**fields, "creator_id": creator["id"]}
        if before is None or not wanted.items() <= before.items():
            fields["context"] = self.context
            commit_statuses.create(db, parent["id"], self.commit, creator["id"], fields)
