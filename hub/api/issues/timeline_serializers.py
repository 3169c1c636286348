"""Serializers of the timeline of an issue or pull request: its events, comments and commits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Self

from typing_extensions import TypedDict

from hub.api.issues import issue_serializers
from hub.api.issues.issue_event_serializers import IssueEvent, IssueEventContext
from hub.api.issues.issue_part_serializers import IssueComment, comment
from hub.api.issues.issue_serializers import Issue
from hub.api.pulls import line_comment_serializers, review_serializers
from hub.api.pulls.line_comment_serializers import LineComment
from hub.api.pulls.review_serializers import Review
from hub.api.repositories import commit_comment_serializers
from hub.api.repositories.commit_comment_serializers import CommitComment
from hub.rest.serializers import SimpleUser, node_id, simple_users
from hub.rest.urls import Urls
from store import Connection, Row
from store.clock import iso
from store.issues import commit_comments, issue_comments, issues
from store.issues.issue_events import is_there


class TimelineComment(IssueComment):
    event: Literal["commented"]
    actor: SimpleUser


class TimelineReview(Review):
    event: Literal["reviewed"]


class TimelineLineComments(TypedDict):
    event: Literal["line-commented"]
    node_id: str
    comments: list[LineComment]


class TimelineCommitComments(TypedDict):
    event: Literal["commit-commented"]
    node_id: str
    commit_id: str
    comments: list[CommitComment]


class CommitPerson(TypedDict):
    name: str
    email: str
    date: str


class CommitTree(TypedDict):
    sha: str
    url: str


class CommitVerification(TypedDict):
    verified: Literal[False]
    reason: str
    signature: None
    payload: None
    verified_at: None


class TimelineCommit(TypedDict):
    """A commit. `parents` is empty and nothing is verified, because a push event has neither."""

    event: Literal["committed"]
    sha: str
    node_id: str
    url: str
    html_url: str
    author: CommitPerson
    committer: CommitPerson
    message: str
    tree: CommitTree
    parents: list[CommitTree]
    verification: CommitVerification


class CrossReferenceSource(TypedDict):
    type: Literal["issue"]
    issue: NotRequired[Issue]


class TimelineCrossReference(TypedDict):
    event: Literal["cross-referenced"]
    actor: SimpleUser
    created_at: str
    updated_at: str
    source: CrossReferenceSource


TimelineEvent = (
    IssueEvent
    | TimelineComment
    | TimelineReview
    | TimelineLineComments
    | TimelineCommitComments
    | TimelineCommit
    | TimelineCrossReference
)


@dataclass(slots=True)
class Timeline:
    """The rows that a page of an issue's timeline refers to."""

    urls: Urls
    repo: Row
    issue: Row
    events: IssueEventContext
    people: Mapping[int, SimpleUser]
    said: Mapping[int, Row]
    """Comments and reviews of the issue, by id."""
    comments: Mapping[int, CommitComment]
    sources: Mapping[int, Issue]
    """The issues that refer to it, by id."""

    @classmethod
    def of(
        cls,
        urls: Urls,
        db: Connection,
        repo: Row,
        issue: Row,
        rows: Sequence[Row],
        team_viewer: Row,
    ) -> Self:
        """Load the rows, with as few statements for many events as for one."""
        about = _subjects(rows)
        said = issue_comments.of(db, about("commented", "reviewed", "line-commented"))
        others = commit_comments.of(db, about("commit-commented")).values()
        shown = commit_comment_serializers.several(urls, db, repo, [*others])
        sources = [*issues.of(db, about("cross-referenced")).values()]
        there = [row for row in sources if is_there(row)]
        known = {row[name] for row in said.values() for name in ("author_id", "pinned_by_id")}
        return cls(
            urls,
            repo,
            issue,
            IssueEventContext.of(urls, db, repo, rows, team_viewer),
            simple_users(urls, db, known),
            said,
            {one["id"]: one for one in shown},
            issue_serializers.several(urls, db, repo, there),
        )

    def serialize(self, row: Row) -> TimelineEvent:
        make = OTHERWISE.get(row["kind"])
        return self.events.event(row) if make is None else make(self, row)


def _subjects(rows: Sequence[Row]) -> Callable[..., set[int]]:
    return lambda *kinds: {row["subject_id"] for row in rows if row["kind"] in kinds}


def _commented(timeline: Timeline, row: Row) -> TimelineComment:
    said = timeline.said[row["subject_id"]]
    made = comment(timeline.urls, timeline.repo, timeline.issue, said, timeline.people)
    actor = timeline.events.person(said["author_id"])
    return {**made, "user": actor, "event": "commented", "actor": actor}


def _reviewed(timeline: Timeline, row: Row) -> TimelineReview:
    said = timeline.said[row["subject_id"]]
    user = timeline.events.person(said["author_id"])
    made = review_serializers.one(timeline.urls, timeline.repo, timeline.issue, said, user)
    return {"event": "reviewed", **made}


def _lines(timeline: Timeline, row: Row) -> TimelineLineComments:
    said = timeline.said[row["subject_id"]]
    user = timeline.people.get(said["author_id"])
    made = line_comment_serializers.one(timeline.urls, timeline.repo, timeline.issue, said, user)
    key = node_id("PullRequestReviewThread", said["number"])
    return {"event": "line-commented", "node_id": key, "comments": [made]}


def _of_commit(timeline: Timeline, row: Row) -> TimelineCommitComments:
    return {
        "event": "commit-commented",
        "node_id": node_id("PullRequestCommitCommentThread", row["id"]),
        "commit_id": row["commit_id"],
        "comments": [timeline.comments[row["subject_id"]]],
    }


def _committed(timeline: Timeline, row: Row) -> TimelineCommit:
    urls, repo, sha, given = timeline.urls, timeline.repo, row["commit_id"], row["members"]
    url, date = f"{urls.repository(repo)}/git", iso(row["created_at"])
    tree = given["tree"] or ""
    return {
        "event": "committed",
        "sha": sha,
        "node_id": node_id("Commit", sha),
        "url": f"{url}/commits/{sha}",
        "html_url": urls.commit_page(repo, sha),
        "author": _who(given["author"], date),
        "committer": _who(given["committer"], date),
        "message": given["message"],
        "tree": {"sha": tree, "url": f"{url}/trees/{tree}"},
        "parents": [],
        "verification": {
            "verified": False,
            "reason": "gpgverify_unavailable",
            "signature": None,
            "payload": None,
            "verified_at": None,
        },
    }


def _who(given: Mapping[str, Any], date: str) -> CommitPerson:
    return {"name": given.get("name", ""), "email": given.get("email", ""), "date": date}


def _cross_referenced(timeline: Timeline, row: Row) -> TimelineCrossReference:
    source: CrossReferenceSource = {"type": "issue"}
    issue = timeline.sources.get(row["subject_id"])
    if issue is not None:
        source["issue"] = issue
    at = iso(row["created_at"])
    return {
        "event": "cross-referenced",
        "actor": timeline.events.person(row["actor_id"]),
        "created_at": at,
        "updated_at": at,
        "source": source,
    }


OTHERWISE: dict[str, Callable[[Timeline, Row], TimelineEvent]] = {
    "commented": _commented,
    "commit-commented": _of_commit,
    "committed": _committed,
    "cross-referenced": _cross_referenced,
    "line-commented": _lines,
    "reviewed": _reviewed,
}
"""Serializers of the kinds that have another form than issue events."""
