"""Serializers of issues and pull requests, shared by several groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Self

import orjson
from typing_extensions import TypedDict

from hub.api.issues.body_forms import BodyForms
from hub.api.issues.issue_part_serializers import (
    IssueComment,
    Label,
    Milestone,
    Reactions,
    comment,
    label,
    milestone,
    reactions,
)
from hub.http.media import PLAIN, Media
from hub.rest.serializers import SimpleUser, node_id, simple_users, time
from hub.rest.urls import Urls
from store import Connection, Row
from store.clock import iso
from store.issues import issue_comments, issues, labels, milestones, pulls
from store.repositories.author_association import AuthorAssociation


class PullLinks(TypedDict):
    url: str
    html_url: str
    diff_url: str
    patch_url: str
    merged_at: str | None


class IssueTypeDetails(TypedDict):
    """A type that an organization has for its issues."""

    id: int
    node_id: str
    name: str
    description: str | None
    color: str | None


class Issue(TypedDict):
    """An issue. `pull_request` and `draft` are present for a pull request only.

    `assignee` is the first of the `assignees`. The media type decides which of the body members
    are present: `body` is the text as it was written, `body_text` is without markup, `body_html`
    is rendered. The counts of `reactions` are 0, because no event reports them.
    """

    id: int
    node_id: str
    url: str
    repository_url: str
    labels_url: str
    comments_url: str
    events_url: str
    timeline_url: str
    html_url: str
    number: int
    state: Literal["open", "closed"]
    state_reason: issues.StateReason | None
    title: str
    body: NotRequired[str | None]
    body_text: NotRequired[str | None]
    body_html: NotRequired[str | None]
    type: NotRequired[IssueTypeDetails]
    user: SimpleUser | None
    pinned_comment: IssueComment | None
    labels: list[Label]
    assignee: SimpleUser | None
    assignees: list[SimpleUser]
    milestone: Milestone | None
    locked: bool
    active_lock_reason: str | None
    comments: int
    pull_request: NotRequired[PullLinks]
    draft: NotRequired[bool]
    closed_at: str | None
    closed_by: SimpleUser | None
    created_at: str
    updated_at: str
    author_association: AuthorAssociation
    performed_via_service_app: None
    reactions: Reactions


@dataclass(slots=True)
class IssueRelations:
    """The related rows by issue id, and all accounts that occur in them."""

    people: dict[int, SimpleUser]
    labels: dict[int, list[Row]]
    assignees: dict[int, list[int]]
    milestones: dict[int, Row]
    """By milestone id."""
    pulls: dict[int, Row]
    pinned: dict[int, Row]

    @classmethod
    def of(cls, urls: Urls, db: Connection, rows: Sequence[Row]) -> Self:
        """Load the relations, with as few statements for many issues as for one."""
        ids = [row["id"] for row in rows]
        assigned = issues.assignees(db, ids)
        due = milestones.of(db, {row["milestone_id"] for row in rows} - {None})
        pinned = issue_comments.pinned(db, ids)
        known = {row[column] for row in rows for column in ("author_id", "closed_by_id")}
        known |= {account_id for each in assigned.values() for account_id in each}
        known |= {row["creator_id"] for row in due.values()}
        known |= {row[name] for row in pinned.values() for name in ("author_id", "pinned_by_id")}
        return cls(
            simple_users(urls, db, known),
            labels.of_issues(db, ids),
            assigned,
            due,
            pulls.of_issues(db, ids),
            pinned,
        )


def several(
    urls: Urls, db: Connection, repo: Row, rows: Sequence[Row], media: Media = PLAIN
) -> dict[int, Issue]:
    """Serialize the issues of a repository in the requested form, by id."""
    forms = BodyForms(media)
    forms.prepare(db)
    relations = IssueRelations.of(urls, db, rows)
    return {row["id"]: issue(urls, repo, row, relations, forms) for row in rows}


def issue(urls: Urls, repo: Row, row: Row, relations: IssueRelations, forms: BodyForms) -> Issue:
    """Serialize an issue, or a pull request as an issue."""
    url = urls.issue(repo, row["number"])
    due = relations.milestones.get(row["milestone_id"])
    pinned = relations.pinned.get(row["id"])
    assigned = [relations.people[number] for number in relations.assignees.get(row["id"], ())]
    shown: Issue = {
        "id": row["id"],
        "node_id": node_id("PullRequest" if row["is_pull"] else "Issue", row["id"]),
        "url": url,
        "repository_url": urls.repository(repo),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": urls.issue_page(repo, row),
        "number": row["number"],
        "state": row["state"],
        "state_reason": row["state_reason"],
        "title": row["title"],
        **forms.members(row["body"]),  # type: ignore[typeddict-item]  # its names are not literals
        "user": relations.people.get(row["author_id"]),
        "pinned_comment": None
        if pinned is None
        else comment(urls, repo, row, pinned, relations.people),
        "labels": [label(urls, repo, one) for one in relations.labels.get(row["id"], ())],
        "assignee": assigned[0] if assigned else None,
        "assignees": assigned,
        "milestone": None if due is None else milestone(urls, repo, due, relations.people),
        "locked": bool(row["locked"]),
        "active_lock_reason": row["lock_reason"],
        "comments": row["comments"],
        "closed_at": time(row["closed_at"]),
        "closed_by": relations.people.get(row["closed_by_id"]),
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
        "author_association": row["author_association"],
        "performed_via_service_app": None,
        "reactions": reactions(url),
    }
    if row["type"] is not None:
        shown["type"] = _type(orjson.loads(row["type"]))
    pull = relations.pulls.get(row["id"])
    if row["is_pull"]:
        shown["pull_request"] = _links(urls, repo, row, pull)
        shown["draft"] = bool(pull and pull["draft"])
    return shown


def _type(given: Mapping[str, Any]) -> IssueTypeDetails:
    return {
        "id": given["id"],
        "node_id": node_id("IssueType", given["id"]),
        "name": given["name"],
        "description": given.get("description"),
        "color": given.get("color"),
    }


def _links(urls: Urls, repo: Row, row: Row, pull: Row | None) -> PullLinks:
    page = urls.issue_page(repo, row)
    return {
        "url": urls.pull(repo, row["number"]),
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "merged_at": time(None if pull is None else pull["merged_at"]),
    }
