"""Changes of comments on issues through the API, with their place in the timeline."""

from store.database import external_ids, upsert
from store.database.connection import Connection, Row
from store.issues import (
    comment_counts,
    issue_changes,
    issue_comments,
    issue_events,
    issue_references,
)
from store.issues.issue_events import IssueEventData

COMMENTED = "commented"


def create(
    db: Connection, repo: Row, issue: Row, author_id: int, body: str, *, association: str
) -> Row:
    """Create a comment on an issue or a pull request."""
    values = {
        "repo_id": repo["id"],
        "issue_id": issue["id"],
        "kind": "comment",
        "author_id": author_id,
        "author_association": association,
        "body": body,
        "details": "{}",
        "made_here": 1,
        "created_at": db.now,
        "updated_at": db.now,
    }
    made = external_ids.insert_with_own_id(db, "issue_comment", values, "id")
    assert made is not None, "a new id is unique"
    comment_counts.add(db, issue["id"], 1)
    issue_changes.touch(db, issue, {})
    happening = IssueEventData(COMMENTED, author_id, db.now, subject_id=made)
    issue_events.add(db, issue, [happening])
    issue_references.references_in(db, repo, issue, body, by=author_id, at=db.now)
    return issue_comments.of(db, [made])[made]


def update(db: Connection, repo: Row, issue: Row, comment: Row, by: int, body: str) -> Row:
    """Replace a comment's text."""
    changes = {"body": body, "updated_at": db.now, "changed_at": db.now}
    upsert.update(db, "issue_comment", comment, changes)
    issue_references.references_in(db, repo, issue, body, by=by, at=db.now)
    return issue_comments.of(db, [comment["id"]])[comment["id"]]


def delete(db: Connection, issue: Row, comment: Row) -> None:
    """Delete a comment, also from the timeline. Raises Missing if it is gone."""
    issue_comments.delete(db, comment)
    issue_events.forget(db, COMMENTED, comment["id"])
    comment_counts.add(db, issue["id"], -1)
    issue_changes.touch(db, issue, {})
