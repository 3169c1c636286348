"""Serializers of the parts of issues: labels, milestones, comments."""

from collections.abc import Mapping
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hub.api.issues.body_forms import BodyForms
from hub.rest.serializers import SimpleUser, node_id, row_serializer, time
from hub.rest.urls import Urls
from store import Row
from store.clock import iso
from store.repositories.author_association import AuthorAssociation

People = Mapping[int, SimpleUser]
"""Accounts by id."""


class Label(TypedDict):
    """A label. None is archived here."""

    id: int
    node_id: str
    url: str
    name: str
    description: str | None
    color: str
    default: bool
    archived_at: None
    archived_by: None


class Milestone(TypedDict):
    url: str
    html_url: str
    labels_url: str
    id: int
    node_id: str
    number: int
    state: Literal["open", "closed"]
    title: str
    description: str | None
    creator: SimpleUser | None
    open_issues: int
    closed_issues: int
    created_at: str
    updated_at: str
    closed_at: str | None
    due_on: str | None


class CommentPin(TypedDict):
    pinned_at: str
    pinned_by: SimpleUser | None


# The kinds have no members of their own in the OpenAPI document: programs that generate clients
# cannot tell "+1" from "-1".
Reactions = dict[str, str | int]
KINDS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")


class IssueComment(TypedDict):
    """A comment. The media type decides which of the body members are present.

    The counts of `reactions` are 0, because no event reports them.
    """

    id: int
    node_id: str
    url: str
    html_url: str
    body: NotRequired[str]
    body_text: NotRequired[str]
    body_html: NotRequired[str]
    user: SimpleUser | None
    created_at: str
    updated_at: str
    issue_url: str
    author_association: AuthorAssociation
    performed_via_service_app: None
    reactions: Reactions
    pin: CommentPin | None


def reactions(url: str) -> Reactions:
    """Return the reactions to the thing with this URL: no event reports them, so all are 0."""
    return {"url": f"{url}/reactions", **dict.fromkeys(("total_count", *KINDS), 0)}


def label(urls: Urls, repo: Row, row: Row) -> Label:
    return {
        "id": row["id"],
        "node_id": node_id("Label", row["id"]),
        "url": urls.label(repo, row["name"]),
        "name": row["name"],
        "description": row["description"],
        "color": row["color"],
        "default": bool(row["is_default"]),
        "archived_at": None,
        "archived_by": None,
    }


_milestone = row_serializer(
    Milestone, "url", "html_url", "labels_url", "creator", "due_on", kind="Milestone"
)


def milestone(urls: Urls, repo: Row, row: Row, people: People) -> Milestone:
    url = urls.milestone(repo, row["number"])
    return _milestone(
        row,
        url=url,
        html_url=f"{urls.page(repo)}/milestone/{row['number']}",
        labels_url=f"{url}/labels",
        creator=people.get(row["creator_id"]),
        due_on=time(row["due_on"]),
    )


def comment(
    urls: Urls,
    repo: Row,
    issue: Row,
    row: Row,
    people: People,
    forms: BodyForms | None = None,
) -> IssueComment:
    """Serialize a comment on an issue as a whole."""
    bodies = (forms or BodyForms()).members(row["body"] or "")
    number = row["number"]
    url = f"{urls.repository(repo)}/issues/comments/{number}"
    pin: CommentPin | None = None
    if row["pinned_at"] is not None:
        pinned_by = people.get(row["pinned_by_id"])
        pin = {"pinned_at": iso(row["pinned_at"]), "pinned_by": pinned_by}
    return {
        "id": number,
        "node_id": node_id("IssueComment", number),
        "url": url,
        "html_url": f"{urls.issue_page(repo, issue)}#issuecomment-{number}",
        **bodies,  # type: ignore[typeddict-item]  # its names are not literals
        "user": people.get(row["author_id"]),
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
        "issue_url": urls.issue(repo, issue["number"]),
        "author_association": row["author_association"],
        "performed_via_service_app": None,
        "reactions": reactions(url),
        "pin": pin,
    }
