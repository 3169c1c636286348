"""Source imports (group 23): a worker copies a repository's history from another server."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from annotated_types import MaxLen, MinLen
from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from hub.api.imports import import_serializers
from hub.api.imports.import_serializers import PorterAuthor, PorterLargeFile, SourceImport
from hub.auth.repository_access import OnRepo
from hub.rest import serializers
from hub.rest.context import Context, Services
from hub.rest.event_payloads import EventData, sent_by
from hub.rest.group import OperationGroup
from hub.rest.operation import Deprecation
from hub.rest.paging import SincePaging
from hub.rest.urls import Urls
from hub.rest.validation import Text
from store import Connection, Row
from store.delivery.outbox import SnapshotEvent
from store.errors import Invalid, existing
from store.imports import import_contents, imports
from store.repositories import repositories

ops = OperationGroup("migrations", author_id=import_contents.author)

LOOK = OnRepo(role="write", scopes=("repo",), kinds=("personal",))
CHANGE = OnRepo(role="admin", scopes=("repo",), kinds=("personal",))
EVENT = "repository_import"
SVN = re.compile(r"svn://(?P<host>\[[^\]]*\]|[^/?#:]*)(?P<port>:[^/?#]*)?(?P<path>.*)", re.I | re.S)
SVN_PORT = ":3690"
ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")

Line = Annotated[str, MaxLen(1000), Field(pattern=r"^[^\x00-\x1f\x7f]*$")]
Vcs = Literal["subversion", "git", "mercurial", "tfvc"]
# The characters that git accepts in an author's name and address.
Called = Annotated[str, MinLen(1), MaxLen(320), Field(pattern=r"^[^\x00-\x1f\x7f<>]+$")]


class RetiredOptions(TypedDict):
    """The options of all operations in this group."""

    setting: str
    deprecated: Deprecation


RETIRED: RetiredOptions = {
    "setting": "imports",
    "deprecated": Deprecation("2024-04-12", sunset="2024-04-12"),
}


class NewImport(TypedDict, total=False):
    """A new import. Without `vcs`, the kind of version control is detected.

    `tfvc_project` names one of the projects below the URL.
    """

    vcs: Vcs
    vcs_username: Line
    vcs_password: Line
    tfvc_project: Line


class NewSourceImport(NewImport):
    vcs_url: Annotated[Text, MinLen(1), MaxLen(2048)]


class SourceImportChange(NewImport, total=False):
    """A change of an import.

    Fields that are left out stay. A whole entry of `project_choices` is valid.
    """

    human_name: Line


class AuthorChange(TypedDict, total=False):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    email: Called
    name: Called


class LfsPreference(TypedDict):
    use_lfs: Literal["opt_in", "opt_out"]


async def check_url(services: Services, body: NewSourceImport) -> None:
    """Check that the URL may be requested, by the same rules as a hook's URL.

    Raises Invalid if not.
    """
    url = body["vcs_url"]
    scheme, separator, _ = url.partition("://")
    if separator and scheme.lower() not in ("http", "https", "svn"):
        message = f"The scheme {scheme} is refused: use an http, https or svn URL."
        raise _invalid("vcs_url", message)
    if scheme.lower() == "svn" and body.get("vcs", "subversion") != "subversion":
        raise _invalid("vcs", "A svn:// URL is always a subversion repository.")
    try:
        await services.callback_validator(_as_web(url))
    except Invalid as error:
        raise _invalid("vcs_url", str(error)) from None


def _as_web(url: str) -> str:
    """Return a svn URL as an http URL with the same host and port, so that it can be checked."""
    found = SVN.fullmatch(url)
    if found is None:
        return url
    return "".join(("http://", found["host"], found["port"] or SVN_PORT, found["path"]))


@ops("GET /repos/{owner}/{repo}/import", LOOK, **RETIRED)
def get_import_status(ctx: Context, repo: Row) -> SourceImport:
    """Get an import status"""
    return _serialize(ctx, repo, imports.needed(ctx.db, repo["id"]))


@ops("PUT /repos/{owner}/{repo}/import", CHANGE, status=201, before=check_url, **RETIRED)
def start_import(ctx: Context, repo: Row, body: NewSourceImport) -> SourceImport:
    """Start an import

    Once it is complete, the repository has the history found at the URL.
    """
    row = imports.start(
        ctx.db,
        repo["id"],
        ctx.required_caller.account_id,
        body["vcs_url"],
        vcs=body.get("vcs"),
        project=body.get("tfvc_project"),
        username=body.get("vcs_username"),
        password=body.get("vcs_password"),
    )
    return _serialize(ctx, repo, row)


@ops("PATCH /repos/{owner}/{repo}/import", CHANGE, **RETIRED)
def update_import(ctx: Context, repo: Row, body: SourceImportChange) -> SourceImport:
    """Update an import

    Restarts the import, with other credentials, another kind of version control, or the chosen
    project. Without a body it restarts with the same values.
    """
    return _serialize(
        ctx, repo, restarted(ctx.db, repo["id"], ctx.required_caller.account_id, body)
    )


def restarted(db: Connection, repo_id: int, account_id: int, body: SourceImportChange) -> Row:
    """Restart a repository's import with changes. Return it. Raises Missing or Invalid."""
    row = imports.needed(db, repo_id)
    names = {"vcs": "vcs", "vcs_username": "username", "vcs_password": "password"}
    names["tfvc_project"] = "project"
    changed = {names[name]: value for name, value in body.items() if name in names}
    choices = [one["tfvc_project"] for one in row["project_choices"]]
    if choices and changed.get("project", choices[0]) not in choices:
        raise _invalid("tfvc_project", f"choose one of: {', '.join(choices)}")
    return imports.restart(db, row, account_id, changed)


@ops("DELETE /repos/{owner}/{repo}/import", CHANGE, emits=(EVENT,), **RETIRED)
def cancel_import(ctx: Context, repo: Row) -> None:
    """Cancel an import

    Removes the data fetched so far. If the import is complete, only its record is removed; the
    history stays.
    """
    cancelled(ctx, repo)


def cancelled(ctx: Context, repo: Row) -> None:
    """Cancel a repository's import. Raises Missing if there is none."""
    status = existing(imports.delete(ctx.db, repo["id"]), "import")
    if status != "complete":
        ctx.emit(EVENT, repo, **import_serializers.event(ctx.urls, ctx.db, repo, "cancelled"))


@ops(
    "GET /repos/{owner}/{repo}/import/authors",
    LOOK,
    default_per_page=1_000,
    max_per_page=1_000,
    **RETIRED,
)
def get_commit_authors(ctx: Context, repo: Row, page: SincePaging) -> list[PorterAuthor]:
    """Get commit authors

    The authors of commits and tags, sorted by id. With `since`, only those with a greater id.
    """
    imports.needed(ctx.db, repo["id"])
    rows = import_contents.authors(ctx.db, repo["id"], since=page.since, limit=page.wanted)
    return [import_serializers.author(ctx.urls, repo, row) for row in page.cut(rows)]


@ops("PATCH /repos/{owner}/{repo}/import/authors/{author_id}", CHANGE, **RETIRED)
def map_commit_author(ctx: Context, repo: Row, author: Row, body: AuthorChange) -> PorterAuthor:
    """Map a commit author

    The history is rewritten with it, even if the import is complete. A new address has the form
    `name@host`.
    """
    changed: dict[str, Any] = {name: value for name, value in body.items() if value != author[name]}
    # The source may have other addresses. Commits have local hosts too, so the host may be any.
    if "email" in changed and not ADDRESS.fullmatch(changed["email"]):
        raise _invalid("email", "The address must have the form name@host.")
    if changed:
        imports.remap(ctx.db, repo["id"])
        author = import_contents.rename(ctx.db, author, **changed)
    return import_serializers.author(ctx.urls, repo, author)


@ops("GET /repos/{owner}/{repo}/import/large_files", LOOK, **RETIRED)
def get_large_files(ctx: Context, repo: Row) -> list[PorterLargeFile]:
    """Get large files

    Files of more than 100 MB, the largest first; at most a thousand.
    """
    imports.needed(ctx.db, repo["id"])
    found = import_contents.large_files(ctx.db, repo["id"])
    return [import_serializers.large_file(row) for row in found]


@ops("PATCH /repos/{owner}/{repo}/import/lfs", CHANGE, **RETIRED)
def set_lfs_preference(ctx: Context, repo: Row, body: LfsPreference) -> SourceImport:
    """Update Git LFS preference

    The preference is stored and shown, but large files stay in the history in any case.
    """
    return _serialize(ctx, repo, imports.set_preferences(ctx.db, repo["id"], body["use_lfs"]))


def _serialize(ctx: Context, repo: Row, row: Row) -> SourceImport:
    return import_serializers.source_import(ctx.urls, repo, row)


def _invalid(field: str, message: str) -> Invalid:
    return Invalid(message, field=field, code="custom", resource=imports.RESOURCE)


def event_data(urls: Urls, db: Connection, rows: Sequence[Row]) -> list[EventData]:
    """Return the event data for imports that have ended.

    Each row's `outcome` is the event's status.
    """
    repos = repositories.of(db, {row["repo_id"] for row in rows})
    senders = serializers.simple_users(urls, db, {row["account_id"] for row in rows})
    return [
        (
            repo,
            import_serializers.event(urls, db, repo, row["outcome"])
            | {"sender": senders.get(row["account_id"])},
        )
        for row in rows
        if (repo := repos.get(row["repo_id"])) is not None
    ]


ops.declare_serializers(repository_import=event_data)


def _snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    people = serializers.simple_users(urls, db, {row["account_id"] for row in rows})
    return [
        SnapshotEvent(
            EVENT,
            repo["id"],
            import_serializers.event(
                urls, db, repo, "success" if row["status"] == "complete" else "failure"
            )
            | sent_by(people.get(row["account_id"])),
        )
        for row in rows
    ]


ops.declare_snapshots(source_import=_snapshot)
