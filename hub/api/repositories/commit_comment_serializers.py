"""Serializer of commit comments, shared by several groups."""

from collections.abc import Sequence
from typing import NotRequired

from typing_extensions import TypedDict

from hub.http.media import PLAIN, Media
from hub.rest.serializers import SimpleUser, node_id, simple_users
from hub.rest.urls import Urls
from store import Connection, Row
from store.clock import iso
from store.repositories.author_association import AuthorAssociation

# The body members of each form. Without a form, the first one applies.
BODIES = {
    "raw": ("body",),
    "text": ("body_text",),
    "html": ("body_html",),
    "full": ("body", "body_text", "body_html"),
}
COLUMNS = {"body": "body", "body_text": "plain", "body_html": "html"}


class CommitComment(TypedDict):
    """A commit comment. The media type decides which of the body members are present.

    `body` is the text as it was written, `body_text` is without markup, `body_html` is rendered.
    """

    html_url: str
    url: str
    id: int
    node_id: str
    body: NotRequired[str]
    body_text: NotRequired[str]
    body_html: NotRequired[str]
    path: str | None
    position: int | None
    line: int | None
    commit_id: str
    user: SimpleUser | None
    created_at: str
    updated_at: str
    author_association: AuthorAssociation


def several(
    urls: Urls, db: Connection, repo: Row, rows: Sequence[Row], media: Media = PLAIN
) -> list[CommitComment]:
    """Serialize a repository's comments in the requested form."""
    users = simple_users(urls, db, (row["author_id"] for row in rows))
    return [_one(urls, repo, row, users.get(row["author_id"]), media) for row in rows]


def _one(urls: Urls, repo: Row, row: Row, user: SimpleUser | None, media: Media) -> CommitComment:
    bodies = {name: row[COLUMNS[name]] for name in BODIES[media.param or "raw"]}
    return {
        "html_url": f"{urls.commit_page(repo, row['commit_id'])}#commitcomment-{row['id']}",
        "url": f"{urls.repository(repo)}/comments/{row['id']}",
        "id": row["id"],
        "node_id": node_id("CommitComment", row["id"]),
        **bodies,  # type: ignore[typeddict-item]
        "path": row["path"],
        "position": row["position"],
        "line": row["line"],
        "commit_id": row["commit_id"],
        "user": user,
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
        "author_association": row["author_association"],
    }
