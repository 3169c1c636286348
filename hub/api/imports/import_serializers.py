"""Serializers of source imports: their progress, authors and large files."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from hub.rest import organization_serializers
from hub.rest.serializers import row_serializer
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts

GIGABYTE = 10**9
Status = Literal[
    "detecting",
    "importing",
    "mapping",
    "pushing",
    "complete",
    "auth_failed",
    "error",
    "detection_needs_auth",
    "detection_found_nothing",
    "detection_found_multiple",
]
TEXTS = {
    "detecting": "Detecting...",
    "importing": "Importing...",
    "mapping": "Mapping authors...",
    "pushing": "Pushing...",
    "complete": "Done",
    "auth_failed": "The username or password was not accepted",
    "error": "Failed",
    "detection_needs_auth": "A username and password are needed",
    "detection_found_nothing": "No repository was found at this URL",
    "detection_found_multiple": "Several projects were found: choose one",
}
KEPT = (
    "Files larger than 100 MB stay in the history, whatever the preference: this"
    " server does not use Git LFS and does not remove files."
)


class ImportProjectChoice(TypedDict):
    """A project found by detection.

    To choose it, update the import with its `tfvc_project` or all of it.
    """

    vcs: str
    tfvc_project: str
    human_name: str


class SourceImport(TypedDict):
    """An import.

    `import_percent` equals `percent`; `large_files_size` is in gigabytes, rounded up.
    """

    vcs: str | None
    use_lfs: Literal["opt_in", "opt_out", "undecided"]
    vcs_url: str
    tfvc_project: NotRequired[str]
    status: Status
    status_text: str | None
    failed_step: str | None
    error_message: str | None
    percent: int | None
    import_percent: int | None
    commit_count: int | None
    push_percent: int | None
    has_large_files: bool
    large_files_size: int
    large_files_count: int
    project_choices: NotRequired[list[ImportProjectChoice]]
    message: NotRequired[str]
    authors_count: int | None
    url: str
    html_url: str
    authors_url: str
    repository_url: str


class PorterAuthor(TypedDict):
    """An author. `remote_name` and `remote_id` (the address) are as in the source repository."""

    id: int
    remote_id: str
    remote_name: str
    email: str
    name: str
    url: str
    import_url: str


class PorterLargeFile(TypedDict):
    ref_name: str
    path: str
    oid: str
    size: int


_author = row_serializer(PorterAuthor, "url", "import_url")
large_file = row_serializer(PorterLargeFile)


def source_import(urls: Urls, repo: Row, row: Row) -> SourceImport:
    url = urls.source_import(repo)
    importing = row["status"] == "importing"
    percent = (row["import_percent"] or 0) if importing else None
    shown: SourceImport = {
        "vcs": row["vcs"],
        "use_lfs": row["use_lfs"],
        "vcs_url": row["vcs_url"],
        "status": row["status"],
        "status_text": TEXTS[row["status"]],
        "failed_step": row["failed_step"],
        "error_message": row["error_message"],
        "percent": percent,
        "import_percent": percent,
        "commit_count": (row["commit_count"] or 0) if importing else row["commit_count"],
        "push_percent": row["push_percent"],
        "has_large_files": row["large_files_count"] > 0,
        "large_files_size": -(-row["large_files_size"] // GIGABYTE),
        "large_files_count": row["large_files_count"],
        "authors_count": row["authors_count"],
        "url": url,
        "html_url": f"{urls.page(repo)}/import",
        "authors_url": f"{url}/authors",
        "repository_url": urls.repository(repo),
    }
    if row["project"] is not None:
        shown["tfvc_project"] = row["project"]
    if row["status"] == "detection_found_multiple":
        shown["project_choices"] = row["project_choices"]
    if row["large_files_count"] > 0:
        shown["message"] = KEPT
    return shown


def author(urls: Urls, repo: Row, row: Row) -> PorterAuthor:
    url = urls.source_import(repo)
    return _author(row, url=f"{url}/authors/{row['id']}", import_url=url)


def event(urls: Urls, db: Connection, repo: Row, status: str) -> dict[str, Any]:
    """Return the payload for an import's end. `status` is success, cancelled or failure."""
    payload: dict[str, Any] = {"status": status}
    owner = accounts.get(db, repo["owner_id"])
    if owner is not None and owner["kind"] == "Organization":
        payload["organization"] = organization_serializers.organization(urls, owner)
    return payload
