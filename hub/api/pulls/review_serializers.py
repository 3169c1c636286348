"""Serializer of reviews of pull requests."""

from typing import NotRequired

from typing_extensions import TypedDict

from hub.api.issues.body_forms import BodyForms
from hub.api.pulls.line_comment_serializers import Link
from hub.rest.serializers import SimpleUser, node_id
from hub.rest.urls import Urls
from store import Row
from store.clock import iso
from store.repositories.author_association import AuthorAssociation


class ReviewLinks(TypedDict):
    html: Link
    pull_request: Link


class Review(TypedDict):
    """A review. The media type decides which of the body members are present."""

    id: int
    node_id: str
    user: SimpleUser | None
    body: NotRequired[str | None]
    body_text: NotRequired[str | None]
    body_html: NotRequired[str | None]
    state: str
    html_url: str
    pull_request_url: str
    _links: ReviewLinks
    submitted_at: str
    updated_at: str
    commit_id: str
    author_association: AuthorAssociation


def one(
    urls: Urls,
    repo: Row,
    issue: Row,
    row: Row,
    user: SimpleUser | None,
    forms: BodyForms | None = None,
) -> Review:
    """Serialize a review. Its id is the platform's."""
    number = row["number"]
    pull = urls.pull(repo, issue["number"])
    page = f"{urls.issue_page(repo, issue)}#pullrequestreview-{number}"
    return {
        "id": number,
        "node_id": node_id("PullRequestReview", number),
        "user": user,
        **(forms or BodyForms()).members(row["body"]),  # type: ignore[typeddict-item]
        "state": row["state"] or "commented",
        "html_url": page,
        "pull_request_url": pull,
        "_links": {"html": {"href": page}, "pull_request": {"href": pull}},
        "submitted_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
        "commit_id": row["commit_id"] or "",
        "author_association": row["author_association"],
    }
