"""Projection of comments and reviews, and of the timelines in which they appear."""

from typing import Any

from store.clock import SECOND
from store.database import external_ids, payload_reader
from store.database.connection import Connection, Row
from store.issues import commit_comments, issue_comments, issue_events, issue_references, pulls
from store.issues.issue_events import IssueEventData
from store.projection.issue_event_projection import IssuePayload, subject
from store.repositories import deletions

# The action of an event, and the state of a review after it.
DISMISSED = "dismissed"
# The kind of issue event of a dismissal, and its member.
ENDED, REVIEW = "review_dismissed", "dismissed_review"
# The kind of the deletion of a comment's pin.
PIN = "pin"
# Kind of comment to its kind of issue event.
STANDS = {"comment": "commented", "review": "reviewed", "line": "line-commented"}


def commented(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project an `issue_comment` event."""
    said = _said(db, repo, payload, event, "issue", "comment", "comment")
    if said is not None and event["action"] in ("pinned", "unpinned"):
        _pinned(db, said, event)


def _pinned(db: Connection, comment: Row, event: Row) -> None:
    """Pin or unpin a comment. A late event does not undo a later one."""
    key = comment["repo_id"], PIN, comment["number"]
    # Payloads have whole seconds. In one second, the event that comes last counts.
    at = event["as_of"] // SECOND * SECOND
    known = max(deletions.find(db, *key) or 0, comment["pinned_at"] or 0)
    if at < known // SECOND * SECOND:
        return
    pinned = event["action"] == "pinned"
    issue_comments.pin(db, comment, event["sender_id"], at if pinned else None)
    if not pinned:
        deletions.put(db, *key, at)


def line_commented(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project a `pull_request_review_comment` event."""
    _said(db, repo, payload, event, "pull_request", "comment", "line")


def reviewed(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project a `pull_request_review` event."""
    issue, change = subject(db, repo, payload, event, "pull_request")
    given = {**payload_reader.read_part(payload, "review")}
    if given.get("updated_at") is None:
        # Then the review has only the time at which it was submitted.
        given["updated_at"] = change.given.get("updated_at")
    before = _known(db, repo["id"], "review", given)
    said = _said(db, repo, {**payload, "review": given}, event, "pull_request", "review", "review")
    if said is None or issue is None or event["action"] != DISMISSED:
        return
    if not _is_ended(db, issue, before):
        issue_events.add(db, issue, [_dismissed(change, said, before)])


def _is_ended(db: Connection, issue: Row, review: Row | None) -> bool:
    """Return whether the timeline has the dismissal of a review. There is only one."""
    if review is None or review["state"] != DISMISSED:
        return False
    known = issue_events.of_kind(db, issue["id"], ENDED)
    return review["number"] in (one["members"][REVIEW]["review_id"] for one in known)


def _dismissed(change: IssuePayload, review: Row, before: Row | None) -> IssueEventData:
    dismissed = {
        "state": (before or review)["state"] or DISMISSED,
        "review_id": review["number"],
        "dismissal_message": None,
    }
    return change.happening(ENDED, {REVIEW: dismissed})


def _known(db: Connection, repo_id: int, kind: str, given: dict[str, Any]) -> Row | None:
    number = payload_reader.read_field(given, "id", payload_reader.number)
    return None if number is None else issue_comments.find(db, repo_id, kind, number)


def _make_room(db: Connection, issue: Row, kind: str, given: dict[str, Any]) -> None:
    """Let the comment in a payload have its id. A comment that was made here gets another one."""
    known = _known(db, issue["repo_id"], kind, given)
    external_ids.make_room(db, "issue_comment", known, given)


def _said(
    db: Connection,
    repo: Row,
    payload: dict[str, Any],
    event: Row,
    on: str,
    member: str,
    kind: str,
) -> Row | None:
    """Store, update or delete the payload's comment on its issue. Return it, or None.

    `member` and `on` are the names of the comment and the issue in the payload. The result is None
    if the comment is not valid or is deleted.
    """
    issue, _ = subject(db, repo, payload, event, on)
    if issue is None or issue["deleted_at"] is not None:
        return None
    given = payload_reader.read_part(payload, member)
    if event["action"] == "deleted":
        _delete(db, issue, kind, given)
        return None
    return put_comment(db, repo, issue, kind, given, event)


def put_comment(
    db: Connection, repo: Row, issue: Row, kind: str, given: dict[str, Any], event: Row
) -> Row | None:
    """Store a comment on an issue, and its event. Return None if it is not valid or is deleted."""
    _make_room(db, issue, kind, given)
    before, said = issue_comments.put(db, issue, kind, given, event)
    if said is None:
        return None
    by, at = said["author_id"], said["created_at"]
    if before is None:
        happening = IssueEventData(STANDS[kind], by, at, subject_id=said["id"])
        issue_events.add(db, issue, [happening])
    if before is None or before["body"] != said["body"]:
        issue_references.references_in(db, repo, issue, said["body"], by=by, at=said["updated_at"])
    return said


def _delete(db: Connection, issue: Row, kind: str, given: dict[str, Any]) -> None:
    """Delete a comment, also from the timeline."""
    number = payload_reader.read_field(given, "id", payload_reader.number)
    if number is None:
        return
    _make_room(db, issue, kind, given)
    known = _known(db, issue["repo_id"], kind, given)
    if known is not None:
        issue_events.forget(db, STANDS[kind], known["id"])
    issue_comments.delete_reported(db, issue, kind, number, known)


def commit_commented(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project a comment on a commit that is the head of open pull requests."""
    number = payload_reader.read_field(
        payload_reader.read_part(payload, "comment"), "id", payload_reader.number
    )
    comment = None if number is None else commit_comments.by_foreign_id(db, repo["id"], number)
    if comment is not None:
        pin(db, repo, comment)


def pin(db: Connection, repo: Row, comment: Row) -> None:
    """Add a commit's comment to the timelines of the open pull requests with this head."""
    sha = comment["commit_id"]
    happening = IssueEventData(
        "commit-commented",
        comment["author_id"],
        comment["created_at"],
        commit_id=sha,
        subject_id=comment["id"],
    )
    heads = pulls.of_heads(db, repo, [sha]).get(sha, ())
    on = ({"id": pull["issue_id"], "repo_id": repo["id"]} for pull in heads)
    issue_events.add_all(db, ((issue, happening) for issue in on))


def unpin(db: Connection, comment: Row) -> None:
    """Remove a commit's comment from the timelines."""
    issue_events.forget(db, "commit-commented", comment["id"])
