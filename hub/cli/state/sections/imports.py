"""The section `imports`: source imports of repositories."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from hub.cli.console.options import repository_named
from hub.cli.state.base import FullName, StateEntry
from hub.cli.state.changes import StateChange, combined, secret
from store import Connection, Row
from store.imports import imports

Line = Annotated[str, Field(max_length=1_000, pattern=r"^[^\x00-\x1f\x7f]*$")]


class SourceImportEntry(StateEntry):
    """A source import, identified by its repository.

    It starts unless the repository already has an import from this URL and of this project. The
    worker runs it, and the API shows its progress.
    """

    repository: FullName
    vcs_url: Annotated[str, Field(max_length=2_048, pattern=r"^(https?|svn)://[^\x00-\x20]+$")]
    vcs: Literal["git", "mercurial", "subversion", "tfvc"] | None = None
    tfvc_project: Line | None = None
    vcs_username: Line | None = None
    vcs_password: SecretStr | None = None
    use_lfs: Literal["opt_in", "opt_out"] | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "import", self.repository.lower()


def source_import(db: Connection, wanted: SourceImportEntry) -> StateChange:
    """Start an import. Raises Missing for an unknown repository.

    Raises Invalid if another import runs in the repository.
    """
    repo = repository_named(db, wanted.repository)
    before = imports.get(db, repo["id"])
    change = StateChange("import", wanted.repository, "unchanged")
    if before is None or not _is_it(before, wanted):
        _start(db, repo, wanted)
        change = StateChange(
            "import", wanted.repository, "created" if before is None else "updated"
        )
    now = imports.needed(db, repo["id"])
    prefers = wanted.use_lfs is not None and wanted.use_lfs != now["use_lfs"]
    if wanted.use_lfs is not None and prefers:
        imports.set_preferences(db, repo["id"], wanted.use_lfs)
    return StateChange(change.kind, change.name, combined(change.outcome, prefers))


def _is_it(before: Row, wanted: SourceImportEntry) -> bool:
    project = wanted.tfvc_project
    return before["vcs_url"] == wanted.vcs_url and project in (None, before["project"])


def _start(db: Connection, repo: Row, wanted: SourceImportEntry) -> None:
    imports.start(
        db,
        repo["id"],
        repo["owner_id"],
        wanted.vcs_url,
        vcs=wanted.vcs,
        project=wanted.tfvc_project,
        username=wanted.vcs_username,
        password=secret(wanted.vcs_password),
    )
