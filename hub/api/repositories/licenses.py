"""Licenses (group 17): the known ones, and the license of a repository."""

import base64
import html

from typing_extensions import TypedDict

from hub.auth.access import public
from hub.auth.repository_access import on_repo
from hub.http.response import TypedReply, form_reply
from hub.rest import repository_serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.repository_serializers import LicenseSimple
from hub.rest.validation import Text
from store import Connection, Row
from store.errors import existing
from store.repositories import license_catalog, licenses
from store.repositories.license_catalog import KnownLicense


def known(db: Connection, key: str) -> Row | None:
    """Return a known license as a row with the license itself in `known`.

    None for an unknown key.
    """
    found = license_catalog.get(key)
    return None if found is None else {"id": found.key, "known": found}


ops = OperationGroup("licenses", license=known)

READ = on_repo("contents", "read").or_anyone()


class LicenseQuery(TypedDict, total=False):
    featured: bool


class LicenseRefQuery(TypedDict, total=False):
    """A filter. `ref` is a branch, with or without the prefix `refs/heads/` or `heads/`."""

    ref: Text


class License(LicenseSimple):
    html_url: str
    description: str
    implementation: str
    permissions: list[str]
    conditions: list[str]
    limitations: list[str]
    body: str
    featured: bool


class LicenseContentLinks(TypedDict):
    self: str
    git: str
    html: str


class LicenseContent(TypedDict):
    """A license file.

    `license` is the license in it; its `key` is `other` if it is not a known one.
    """

    name: str
    path: str
    sha: str
    size: int
    url: str
    html_url: str
    git_url: str
    download_url: str
    type: str
    content: str
    encoding: str
    _links: LicenseContentLinks
    license: LicenseSimple


@ops("GET /licenses", public())
def get_all_commonly_used(
    ctx: Context, page: NumberedPaging, query: LicenseQuery
) -> list[LicenseSimple]:
    """Get all commonly used licenses

    The featured ones first, then other common ones, then all other known ones.
    """
    found = [
        one
        for one in license_catalog.list_all()
        if "featured" not in query or one.featured == query["featured"]
    ]
    page.total = len(found)
    shown = found[page.offset : page.offset + page.limit]
    return [repository_serializers.license_simple(ctx.urls, one.key) for one in shown]


@ops("GET /licenses/{license}", public())
def get(ctx: Context, license: Row) -> License:  # noqa: A002  # the path's own word
    """Get a license

    Its text has placeholders in brackets.
    """
    found: KnownLicense = license["known"]
    return {
        **repository_serializers.license_simple(ctx.urls, found.key),
        "html_url": found.page,
        "description": found.description,
        "implementation": found.implementation,
        "permissions": list(found.permissions),
        "conditions": list(found.conditions),
        "limitations": list(found.limitations),
        "body": found.body,
        "featured": found.featured,
    }


@ops("GET /repos/{owner}/{repo}/license", READ, media=("raw", "html"), errors=(404,))
def get_for_repo(ctx: Context, repo: Row, query: LicenseRefQuery) -> LicenseContent | TypedReply:
    """Get the license for a repository

    Its file, raw or rendered if the media type requests that, and the license that it is.
    """
    branch = _branch(query.get("ref"), repo)
    file = existing(licenses.get(ctx.db, repo["id"], branch), "license")
    ctx.last_modified = file["updated_at"]
    if ctx.media.param == "raw":
        return form_reply("raw", bytes(file["content"]))
    if ctx.media.param == "html":
        return form_reply("html", rendered(file).encode())
    return content(ctx, repo, file)


def _branch(ref: str | None, repo: Row) -> str:
    if not ref or ref == "HEAD":
        return str(repo["default_branch"])
    return ref.removeprefix("refs/").removeprefix("heads/")


def rendered(file: Row) -> str:
    """Render a license file as safe HTML: Markdown as such, other text preformatted."""
    if file["html"] is not None:
        import nh3

        return nh3.clean(file["html"])
    text = bytes(file["content"]).decode(errors="replace")
    return f"<pre>{html.escape(text)}</pre>"


def content(ctx: Context, repo: Row, file: Row) -> LicenseContent:
    """Serialize a license file, with its text in base64."""
    path, raw = file["path"], bytes(file["content"])
    url = ctx.urls.file(repo, file["branch"], path)
    page = ctx.urls.file_page(repo, file["branch"], path)
    blob = ctx.urls.blob(repo, file["sha"])
    return {
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": file["sha"],
        "size": len(raw),
        "url": url,
        "html_url": page,
        "git_url": blob,
        "download_url": ctx.urls.file_page(repo, file["branch"], path, "raw"),
        "type": "file",
        # In lines of 76 characters, because clients have always received it so.
        "content": base64.encodebytes(raw).decode(),
        "encoding": "base64",
        "_links": {"self": url, "git": blob, "html": page},
        "license": repository_serializers.license_simple(ctx.urls, file["license"]),
    }
