"""Source imports in a state document."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from hub.cli.changes import Change, secret, together
from hub.cli.options import repository_named
from hub.cli.part import FullName, Part
from store import Connection, Row, imports

Line = Annotated[str, Field(max_length=1_000, pattern=r"^[^\x00-\x1f\x7f]*$")]


class SourceImport(Part):
    """Begun where the repository has no import from this URL, or of another project there; what
    is found when the worker does it, the API tells.
    """

    repository: FullName
    vcs_url: Annotated[str, Field(max_length=2_048, pattern=r"^https?://[^\x00-\x20]+$")]
    vcs: Literal["git", "mercurial", "subversion", "tfvc"] | None = None
    tfvc_project: Line | None = None
    vcs_username: Line | None = None
    vcs_password: SecretStr | None = None
    use_lfs: Literal["opt_in", "opt_out"] | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "import", self.repository.lower()


def source_import(db: Connection, wanted: SourceImport) -> Change:
    """Have a history imported. Missing for no such repository, Invalid while another one is
    imported there.
    """
    repo = repository_named(db, wanted.repository)
    before = imports.get(db, repo["id"])
    change = Change("import", wanted.repository, "unchanged")
    if before is None or not _is_it(before, wanted):
        _start(db, repo, wanted)
        change = Change("import", wanted.repository, "created" if before is None else "updated")
    now = imports.needed(db, repo["id"])
    prefers = wanted.use_lfs is not None and wanted.use_lfs != now["use_lfs"]
    if wanted.use_lfs is not None and prefers:
        imports.prefer(db, repo["id"], wanted.use_lfs)
    return Change(change.kind, change.name, together(change.outcome, prefers))


def _is_it(before: Row, wanted: SourceImport) -> bool:
    project = wanted.tfvc_project
    return before["vcs_url"] == wanted.vcs_url and project in (None, before["project"])


def _start(db: Connection, repo: Row, wanted: SourceImport) -> None:
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
