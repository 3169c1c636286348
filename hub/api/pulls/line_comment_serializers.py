"""Serializer of comments on a line of a pull request."""

from typing import Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from hub.api.issues.body_forms import BodyForms
from hub.rest.serializers import SimpleUser, node_id
from hub.rest.urls import Urls
from store import Row
from store.clock import iso
from store.repositories.author_association import AuthorAssociation

Side = Literal["LEFT", "RIGHT"]


class Link(TypedDict):
    href: str


class LineCommentLinks(TypedDict):
    self: Link
    html: Link
    pull_request: Link


class LineComment(TypedDict):
    """A comment on a line. Its position is included as far as it is known.

    The media type decides which of the body members are present.
    """

    url: str
    pull_request_review_id: int | None
    id: int
    node_id: str
    diff_hunk: str
    path: str
    position: NotRequired[int]
    original_position: NotRequired[int]
    commit_id: str
    original_commit_id: str
    in_reply_to_id: NotRequired[int]
    user: SimpleUser | None
    body: NotRequired[str]
    body_text: NotRequired[str]
    body_html: NotRequired[str]
    created_at: str
    updated_at: str
    html_url: str
    pull_request_url: str
    author_association: AuthorAssociation
    _links: LineCommentLinks
    start_line: NotRequired[int | None]
    original_start_line: NotRequired[int | None]
    start_side: NotRequired[Side | None]
    line: NotRequired[int]
    original_line: NotRequired[int]
    side: NotRequired[Side]
    subject_type: NotRequired[Literal["line", "file"]]


# Members that may be null if they are present.
NULLABLE = ("pull_request_review_id", "start_line", "original_start_line", "start_side")


def one(
    urls: Urls,
    repo: Row,
    issue: Row,
    row: Row,
    user: SimpleUser | None,
    forms: BodyForms | None = None,
) -> LineComment:
    """Serialize a comment. The ids of the comment and its review are the platform's."""
    number, sha = row["number"], row["commit_id"] or ""
    url = f"{urls.repository(repo)}/pulls/comments/{number}"
    page = f"{urls.issue_page(repo, issue)}#discussion_r{number}"
    pull = urls.pull(repo, issue["number"])
    details: dict[str, Any] = {
        name: value
        for name, value in row["details"].items()
        if value is not None or name in NULLABLE
    }
    shown = {
        "url": url,
        "pull_request_review_id": None,
        "id": number,
        "node_id": node_id("PullRequestReviewComment", number),
        "diff_hunk": "",
        "path": "",
        "commit_id": sha,
        "original_commit_id": sha,
        "user": user,
        **(forms or BodyForms()).members(row["body"] or ""),
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
        "html_url": page,
        "pull_request_url": pull,
        "author_association": row["author_association"],
        "_links": {"self": {"href": url}, "html": {"href": page}, "pull_request": {"href": pull}},
    }
    return cast("LineComment", shown | details)
