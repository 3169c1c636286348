"""The section `imports`: source imports of repositories."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from hub.cli.state.base import RepositoryPart
from hub.cli.state.changes import secret
from store import Connection, Row
from store.imports import imports

Line = Annotated[str, Field(max_length=1_000, pattern=r"^[^\x00-\x1f\x7f]*$")]


class ImportEntry(RepositoryPart):
    """A source import, identified by its repository.

    It starts unless the repository already has an import from this URL and of this project. The
    worker runs it, and the API shows its progress.
    """

    identified_by = ("repository",)

    vcs_url: Annotated[str, Field(max_length=2_048, pattern=r"^(https?|svn)://[^\x00-\x20]+$")]
    vcs: Literal["git", "mercurial", "subversion", "tfvc"] | None = None
    tfvc_project: Line | None = None
    vcs_username: Line | None = None
    vcs_password: SecretStr | None = None
    use_lfs: Literal["opt_in", "opt_out"] | None = None

    def name_in(self, db: Connection, parent: Row) -> str:
        return self.repository

    def find(self, db: Connection, parent: Row) -> Row | None:
        return imports.get(db, parent["id"])

    def write(self, db: Connection, parent: Row, before: Row | None) -> None:
        """Start the import. Raises Invalid if another import runs in the repository."""
        if before is None or not self._is(before):
            self._start(db, parent)
        if self.use_lfs not in (None, imports.needed(db, parent["id"])["use_lfs"]):
            imports.set_preferences(db, parent["id"], str(self.use_lfs))

    def _is(self, before: Row) -> bool:
        project = self.tfvc_project
        return before["vcs_url"] == self.vcs_url and project in (None, before["project"])

    def _start(self, db: Connection, repo: Row) -> None:
        imports.start(
            db,
            repo["id"],
            repo["owner_id"],
            self.vcs_url,
            vcs=self.vcs,
            project=self.tfvc_project,
            username=self.vcs_username,
            password=secret(self.vcs_password),
        )
